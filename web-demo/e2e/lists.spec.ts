// Lists of people and of posts: who follows whom, who likes what, what is kept. Pictures in test-results/screens/.
import { expect } from "@playwright/test";
import { bookmark, follow, like, numbered, type Person, publish, publishMany, register, registerThree } from "./api";
import { namesOf, openAs, postWith, scrollTo, takePictures, waitUntilLive } from "./page";
import { test } from "./test";

let vera: Person;
let finn: Person;
let nell: Person;

test.beforeEach(async () => {
  [vera, finn, nell] = await registerThree();
});

test("a profile's counts lead to its followers and to whom it follows, and the keyboard goes on from there", async ({ page }) => {
  await follow(finn, vera);
  await follow(nell, vera);
  await openAs(page, finn, `/#/u/${vera.handle}`);
  const followers = page.getByTestId("profile").getByRole("link", { name: "Followers: 2" });
  await followers.focus();
  await page.keyboard.press("Enter");
  await expect(namesOf(page)).toHaveText(["Nell Newcomer", "Finn Harbour"]);
  await expect(page.getByRole("heading", { name: "Vera Shore" })).toBeFocused();
  await expect(page.getByTestId("person").last()).toContainText("This is you");
  await expect(page.getByTestId("people-end")).toBeVisible();

  await page.keyboard.press("Tab");
  await expect(page.getByTestId("back-to-profile")).toBeFocused();
  await page.getByRole("button", { name: "Follow Nell Newcomer" }).click();
  await expect(page.getByRole("button", { name: "Following Nell Newcomer" })).toBeVisible();

  await page.getByTestId("tab-following").click();
  await expect(page.getByTestId("tab-following")).toHaveAttribute("aria-current", "page");
  await expect(page.getByTestId("nobody")).toContainText("Not following anyone yet");
  await page.goto(`/#/u/${finn.handle}/following`);
  await expect(namesOf(page)).toHaveText(["Nell Newcomer", "Vera Shore"]);
  await page.goto("/#/u/nobody_at_all/followers");
  await expect(page.getByTestId("no-such-user")).toBeVisible();
});

test("who likes a post stands behind its count, the viewer as soon as they do", async ({ page }) => {
  await follow(finn, vera);
  const post = await publish(vera, "Low tide at six");
  await openAs(page, finn, `/#/p/${post}/likes`);
  await expect(page.getByTestId("nobody")).toContainText("No likes yet");
  await like(nell, post);
  await page.getByTestId("nav-timeline").click();
  await page.reload();
  await postWith(page, "Low tide at six").getByTestId("post-time").click();
  await page.getByTestId("like-count").click();
  await expect(page.getByRole("heading", { name: "Likes" })).toBeFocused();
  await expect(namesOf(page)).toHaveText(["Nell Newcomer"]);
  await page.getByTestId("liked-post").getByRole("button", { name: "Like" }).click();
  await expect(namesOf(page)).toHaveText(["Finn Harbour", "Nell Newcomer"]);
  await expect(page.getByTestId("like-count")).toHaveText("2 likes");
  await page.goto("/#/p/C_AAAAAAAAAAE/likes");
  await expect(page.getByTestId("no-such-post")).toBeVisible();
});

test("bookmarks are found again, and one that is given up stays until the next visit", async ({ page }) => {
  await follow(finn, vera);
  await publishMany(vera, ["Kept first", "Kept last"]);
  await openAs(page, finn);
  for (const text of ["Kept first", "Kept last"]) {
    const star = postWith(page, text).getByRole("button", { name: "Bookmark" });
    await star.click();
    await expect(star).toHaveAttribute("aria-pressed", "true");
  }
  await page.getByTestId("nav-bookmarks").click();
  await expect(page.getByTestId("post-text")).toHaveText(["Kept last", "Kept first"]);
  for (const text of ["Kept first", "Kept last"]) {
    const star = postWith(page, text).getByRole("button", { name: "Bookmark" });
    await star.click();
    await expect(star).toHaveAttribute("aria-pressed", "false");
  }
  await expect(page.getByTestId("post-text")).toHaveText(["Kept last", "Kept first"]);
  await page.getByTestId("nav-timeline").click();
  await page.getByTestId("nav-bookmarks").click();
  await expect(page.getByTestId("no-bookmarks")).toBeVisible();
});

test("a list that does not load can be tried again", async ({ page }) => {
  await follow(finn, vera);
  await openAs(page, vera);
  await waitUntilLive(page);
  await page.route("**/graphql", (route) => route.abort());
  await page.goto(`/#/u/${vera.handle}/followers`);
  const column = page.getByRole("main");
  await expect(column.getByTestId("failure")).toContainText("did not load");
  await page.unroute("**/graphql");
  await column.getByTestId("retry").click();
  await expect(namesOf(page)).toHaveText(["Finn Harbour"]);
});

test("what came while nobody listened is counted up to 99", async ({ page }) => {
  await follow(finn, vera);
  await publishMany(vera, numbered("Swell", 30));
  await openAs(page, finn);
  await waitUntilLive(page);
  await scrollTo(page, postWith(page, "Swell 1"));
  const place = await page.evaluate(() => window.scrollY);
  await publishMany(nell, numbered("From the other shore", 100));
  // Whose posts belong to the timeline has changed on another device: events alone do not tell what is new.
  await follow(finn, nell);
  await expect(page.getByTestId("new-posts")).toHaveText("99+ new posts");
  await expect(page).toHaveTitle("(99+) Timeline · Tidefeed");
  expect(await page.evaluate(() => window.scrollY)).toBe(place);
  await page.getByTestId("new-posts").click();
  await expect(page.getByTestId("post-text").first()).toHaveText("From the other shore 100");
  await expect(page.getByTestId("new-posts")).toHaveCount(0);
});

test("the lists", async ({ page }) => {
  const long = await register("a_handle_as_long_as", "Wilhelmina Featherstonehaugh-Cholmondeley of the Outer Banks");
  const post = await publish(vera, "Low tide at six, and the whole bay smelled of salt.");
  for (const person of [finn, nell, long]) {
    await follow(person, vera);
    await like(person, post);
  }
  await bookmark(finn, post);
  await follow(finn, nell);
  await openAs(page, finn, `/#/u/${vera.handle}/followers`);
  await expect(page.getByTestId("person")).toHaveCount(3);
  await takePictures(page, "followers");
  await page.getByTestId("tab-following").click();
  await expect(page.getByTestId("nobody")).toBeVisible();
  await takePictures(page, "following-nobody");
  await page.goto(`/#/p/${post}/likes`);
  await expect(page.getByTestId("person")).toHaveCount(3);
  await takePictures(page, "likers");
  await page.getByTestId("nav-bookmarks").click();
  await expect(page.getByTestId("post")).toHaveCount(1);
  await takePictures(page, "bookmarks");
});
