// Looking around in a seeded world, as whoever opens the page for the first time does.
import { expect } from "@playwright/test";
import { scrollTo, takePicture } from "./page";
import { skipWithoutDemo, test } from "./test";

test.beforeEach(async ({ page }) => {
  await skipWithoutDemo();
  await page.goto("/");
  await page.getByTestId("sign-in-demo").click();
  await expect(page.getByTestId("composer")).toBeVisible();
});

test("the first page shows what there is: likes, replies and reposts, and a thread is a click away", async ({ page }) => {
  // As tall as a first page is, for the picture.
  await page.setViewportSize({ width: 1280, height: 2600 });
  const posts = page.getByTestId("post");
  await expect(posts.first()).toBeVisible();
  await expect(page.getByTestId("in-reply-to").first()).toBeVisible();
  await expect(page.getByTestId("repost-line").first()).toBeVisible();
  await expect(page.getByTestId("heart").filter({ hasText: /\d/ }).first()).toBeVisible();
  await takePicture(page, "demo-timeline");
  await page.goto("/#/u/demo");
  const hello = posts.filter({ hasText: "I am here to look around" });
  await expect(hello.getByTestId("reply")).toHaveText("2");
  await hello.getByTestId("reply").click();
  await expect(page.getByTestId("feed").getByTestId("post-text").first()).toContainText("Welcome aboard");
  await takePicture(page, "demo-thread");
});

test("pictures of the seeded world are the server's own, say what they show, and are kept for ever", async ({ page }) => {
  const picture = page.getByTestId("post-picture").first();
  await scrollTo(page, picture);
  await picture.scrollIntoViewIfNeeded();
  await expect.poll(() => picture.evaluate((image: HTMLImageElement) => image.complete && image.naturalWidth)).toBe(800);
  const [address, words] = [await picture.getAttribute("src"), await picture.getAttribute("alt")];
  const { origin, href } = new URL(address ?? "", page.url());
  expect(origin).toBe(new URL(page.url()).origin);
  expect(words).not.toBe("");
  const answer = await page.request.get(href);
  expect(answer.headers()["cache-control"]).toContain("immutable");
  await takePicture(page, "demo-picture");
});

test("the clip of the seeded world has its first frame, and plays", async ({ page }) => {
  await page.goto("/#/u/demo");
  await page.getByTestId("post").filter({ hasText: "I am here to look around" }).getByTestId("reply").click();
  const clip = page.locator("video").first();
  await scrollTo(page, clip);
  const poster = await page.request.get(new URL(await clip.getAttribute("poster") ?? "", page.url()).href);
  expect([poster.status(), poster.headers()["content-type"]]).toEqual([200, "image/jpeg"]);
  await clip.evaluate((video: HTMLVideoElement) => video.play());
  await expect.poll(() => clip.evaluate((video: HTMLVideoElement) => video.currentTime)).toBeGreaterThan(0.2);
  await takePicture(page, "demo-clip");
});

test("a search in the seeded world finds posts", async ({ page }) => {
  await page.goto("/#/s/tide");
  await expect(page.getByTestId("post-text").first()).toContainText(/\btide\b/i);
});

test("the demo account's lists go on past their first page", async ({ page }) => {
  await page.getByTestId("viewer-card").getByRole("link", { name: "Following: 50" }).click();
  await scrollTo(page, page.getByTestId("people-end"));
  await expect(page.getByTestId("person")).toHaveCount(50);
  await page.getByTestId("nav-bookmarks").click();
  await scrollTo(page, page.getByTestId("feed-end"));
  await expect(page.getByTestId("post")).toHaveCount(24);
});

test("the demo account looks around, past the first page", async ({ page }) => {
  const posts = page.getByTestId("post");
  await expect(posts.first()).toBeVisible();
  const names = () => posts.evaluateAll((cards) => cards.map((card) => card.getAttribute("aria-labelledby")));

  const firstPage = await names();
  await expect(async () => {
    await page.evaluate(() => { window.scrollTo(0, document.body.scrollHeight); });
    expect(await posts.count()).toBeGreaterThan(2 * firstPage.length);
  }).toPass();
  const seen = await names();
  expect(seen.slice(0, firstPage.length)).toEqual(firstPage);
  expect(new Set(seen).size).toBe(seen.length);
  await expect(page.getByTestId("failure")).toHaveCount(0);
});
