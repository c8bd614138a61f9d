// Addresses that one can send: read without an account, with a title and a heading of their own, and with a way on where there is nothing. Pictures in test-results/screens/.
import { expect } from "@playwright/test";
import { deleteContent, follow, like, publish, register, reply } from "./api";
import { openAs, takePicture, takePictures } from "./page";
import { test } from "./test";

test("a link that was sent is read without an account, stays current, and is answered with one", async ({ page }) => {
  const vera = await register("vera", "Vera Shore");
  const finn = await register("finn", "Finn Harbour");
  const post = await publish(vera, "Who has seen the wreck?");
  await reply(finn, post, "At low tide");
  await page.goto("/explore");
  await expect(page.getByRole("main")).toContainText("The most followed people here.");
  await page.goto(`/post/${post}`);
  await expect(page.getByTestId("thread-post")).toContainText("Who has seen the wreck?");
  await expect(page.getByTestId("post-text")).toHaveText(["Who has seen the wreck?", "At low tide"]);
  await expect(page).toHaveTitle("Vera Shore: Who has seen the wreck? · Tidefeed");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Thread");
  await reply(finn, post, "And at high tide");
  await expect(page.getByTestId("new-posts")).toHaveText("1 new reply");
  await expect(page.getByTestId("thread-post")).toContainText("2 replies");
  await takePictures(page, "sent-post");
  await page.getByTestId("new-posts").click();
  await expect(page.getByTestId("post-text")).toHaveText(["Who has seen the wreck?", "At low tide", "And at high tide"]);
  await like(finn, post);
  await expect(page.getByTestId("like-count")).toHaveText("1 like");
  await page.getByTestId("thread-post").getByTestId("post-author").click();
  await expect(page).toHaveURL(`/@${vera.handle}`);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Vera Shore");
  await expect(page.getByTestId("post-text")).toHaveText("Who has seen the wreck?");
  await takePictures(page, "sent-profile");
  await follow(finn, vera);
  await expect(page.getByTestId("profile").getByTestId("follower-count")).toHaveText("1");
  await page.goBack();
  await page.getByTestId("sign-in-to-reply").click();
  await page.getByLabel("Handle").fill(finn.handle);
  await page.getByLabel("Password").fill(finn.password);
  await page.getByTestId("sign-in").click();
  await expect(page.getByTestId("reply-form")).toBeVisible();
  await expect(page).toHaveURL(`/post/${post}`);
});

test("links from before there were paths lead on, and what is deep finds its files", async ({ page }) => {
  const vera = await register("vera", "Vera Shore");
  const finn = await register("finn", "Finn Harbour");
  await follow(finn, vera);
  const post = await publish(vera, "Low water at six");
  const missing: string[] = [];
  page.on("response", (response) => { if (response.status() >= 400) missing.push(response.url()); });
  for (const [old, present] of [
    [`/#/u/${vera.handle}/followers`, `/@${vera.handle}/followers`], [`/#/p/${post}`, `/post/${post}`], ["/#/s/low%20water", "/search/low%20water"], [`/#/p/${post}/likes`, `/post/${post}/likes`],
  ] as const) {
    await page.goto(old);
    await expect(page).toHaveURL(present);
    await page.reload();
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    await expect(page).toHaveURL(present);
  }
  await openAs(page, finn, `/post/${post}`);
  await expect(page.getByTestId("reply-form")).toBeVisible();
  await page.getByTestId("back").click();
  await expect(page).toHaveURL("/");
  await expect(page.locator("link[rel=canonical]")).toHaveCount(0);
  expect(missing).toEqual([]);
});

test("where there is nothing, the page says so and leads on, without scripts, too", async ({ page, browser }) => {
  const vera = await register("vera", "Vera Shore");
  const post = await publish(vera, "Soon gone");
  const read = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
  await read.goto(`/post/${post}`);
  await expect(read.getByRole("heading", { level: 1 })).toHaveText(`Vera Shore (@${vera.handle})`);
  await expect(read.getByRole("main")).toContainText("Soon gone");
  await deleteContent(vera, post);
  for (const [path, status, heading] of [
    [`/post/${post}`, 410, "There is no such post"], ["/post/C_AAAAAAAAAAE", 404, "There is no such post"],
    ["/@nobody_at_all", 404, "No one is called @nobody_at_all"], ["/nowhere/at/all", 404, "There is no such page"],
  ] as const) {
    expect((await page.goto(path))?.status(), path).toBe(status);
    await expect(page.getByRole("heading", { level: 1 })).toHaveText(heading);
    await (path === "/nowhere/at/all" ? takePictures(page, "nothing-here") : takePicture(page, `nothing-${status}`));
    await page.getByRole("link", { name: /start page\.?$/ }).last().click();
    await expect(page.getByTestId("sign-in")).toBeVisible();
  }
  await read.context().close();
});
