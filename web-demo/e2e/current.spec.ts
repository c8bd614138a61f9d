// What is shown stays current: what others do with it is seen within seconds, and moves nothing. Pictures in test-results/screens/.
import { expect } from "@playwright/test";
import { deleteContent, follow, like, publish, register, registerThree, reply } from "./api";
import { openAs, postWith, takePictures, waitUntilLive } from "./page";
import { test } from "./test";

test("an open thread tells of replies, likes and deletions, and keeps the reader's place", async ({ page }) => {
  const [vera, finn, nell] = await registerThree();
  const post = await publish(finn, "Who has seen the wreck?");
  const first = await reply(nell, post, "I have");
  await openAs(page, vera, `/post/${post}`);
  await expect(page.getByTestId("thread-post")).toContainText("1 reply");
  await reply(nell, post, "And again today");
  await expect(page.getByTestId("new-posts")).toHaveText("1 new reply");
  await expect(page.getByTestId("feed").getByTestId("post-text")).toHaveText(["I have"]);
  await takePictures(page, "new-reply");
  await page.getByTestId("new-posts").click();
  await expect(page.getByTestId("feed").getByTestId("post-text")).toHaveText(["I have", "And again today"]);
  await expect(page.getByTestId("new-posts")).toHaveCount(0);
  await like(nell, post);
  await expect(page.getByTestId("like-count")).toHaveText("1 like");
  await deleteContent(nell, first);
  await expect(page.getByTestId("feed").getByTestId("post-text")).toHaveText(["And again today"]);
  await expect(page.getByTestId("thread-post")).toContainText("1 reply");
  await deleteContent(finn, post);
  await expect(page.getByTestId("no-such-post")).toBeVisible();
});

test("a profile and its lists tell of posts and followers", async ({ page }) => {
  const [vera, finn] = await registerThree();
  await publish(finn, "Low water at six");
  await openAs(page, vera, `/@${finn.handle}`);
  await expect(page.getByTestId("post-text")).toHaveText(["Low water at six"]);
  await publish(finn, "High water at noon");
  await expect(page.getByTestId("new-posts")).toHaveText("1 new post");
  await expect(page.getByTestId("profile").getByTestId("content-count")).toHaveText("2");
  await expect(page.getByTestId("post-text")).toHaveText(["Low water at six"]);
  await page.getByTestId("new-posts").click();
  await expect(page.getByTestId("post-text")).toHaveText(["High water at noon", "Low water at six"]);
  // The viewer's other device.
  await follow(vera, finn);
  await expect(page.getByTestId("profile").getByTestId("follow")).toContainText("Following");
  const followers = page.getByTestId("profile").getByTestId("follower-count");
  await expect(followers).toHaveText("1");
  await followers.getByRole("link").click();
  await expect(page.getByTestId("person")).toHaveCount(1);
  await follow(await register("late", "Late Comer"), finn);
  await expect(page.getByTestId("person")).toHaveCount(2);
});

test("a like in one tab is seen in another, on the timeline, too", async ({ page, context }) => {
  const vera = await register("vera", "Vera Shore");
  const finn = await register("finn", "Finn Harbour");
  await follow(vera, finn);
  const post = await publish(finn, "Seals on the sandbank");
  await openAs(page, vera);
  await waitUntilLive(page);
  const other = await context.newPage();
  await other.goto(`/post/${post}`);
  await other.getByTestId("thread-post").getByTestId("heart").click();
  await expect(postWith(page, "Seals on the sandbank").getByTestId("heart")).toHaveAttribute("aria-pressed", "true");
  await expect(postWith(page, "Seals on the sandbank").getByTestId("heart")).toHaveText("1");
  await page.bringToFront();
  await postWith(page, "Seals on the sandbank").getByTestId("heart").click();
  await expect(other.getByTestId("thread-post").getByTestId("heart")).toHaveAttribute("aria-pressed", "false");
});
