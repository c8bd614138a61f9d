// The timeline by kinds: each list is read, paged and kept current for itself. Pictures in test-results/screens/.
import { setTimeout } from "node:timers/promises";
import { expect } from "@playwright/test";
import { deleteContent, follow, numbered, type Person, publish, publishMany, register, registerThree, reply, repost } from "./api";
import { openAs, postWith, scrollTo, takePictures, waitUntilLive, write } from "./page";
import { test } from "./test";

let vera: Person;
let finn: Person;
let nell: Person;

test.beforeEach(async () => {
  [vera, finn, nell] = await registerThree();
  await follow(vera, finn);
});

/** Each in a millisecond of its own. */
async function replyMany(author: Person, replyTo: string, texts: readonly string[]) {
  for (const text of texts) {
    await reply(author, replyTo, text);
    await setTimeout(2);
  }
}

test("each list shows its own kind: folded by itself, and to its own end", async ({ page }) => {
  const asked = await publish(finn, "Who has seen the wreck?");
  await replyMany(finn, asked, numbered("Seen from pier", 25));
  await publishMany(finn, numbered("A walk, day", 3));
  await repost(finn, asked);
  await openAs(page, vera);
  await expect(page.getByTestId("list-everything")).toHaveAttribute("aria-current", "page");
  await expect(page.getByTestId("post-text").first()).toHaveText("Who has seen the wreck?");

  await page.getByTestId("list-post").click();
  await expect(page.getByTestId("post-text")).toHaveText(["A walk, day 3", "A walk, day 2", "A walk, day 1", "Who has seen the wreck?"]);
  await expect(page.getByTestId("repost-line")).toHaveCount(0);
  await page.getByTestId("list-repost").click();
  await expect(page.getByTestId("repost-line")).toHaveText([/^Finn Harbour reposted/]);
  await page.getByTestId("list-reply").click();
  await expect(page).toHaveTitle("Replies · Timeline · Tidefeed");
  await scrollTo(page, page.getByTestId("feed-end"));
  await expect(page.getByTestId("post-text")).toHaveText(numbered("Seen from pier", 25).toReversed());
});

test("what arrives waits in the lists of its kind alone, and leaves them all when it is deleted", async ({ page }) => {
  const asked = await publish(finn, "Who has seen the wreck?");
  await openAs(page, vera, "/#/replies");
  await waitUntilLive(page);
  await expect(page.getByTestId("empty-list")).toContainText("No replies yet");
  // Where nothing is being read, nothing has to wait.
  await reply(finn, asked, "Not I");
  await expect(page.getByTestId("post-text")).toHaveText(["Not I"]);
  await publish(finn, "Nothing for this list");
  await reply(finn, asked, "I have");
  const second = await reply(finn, asked, "So have we");
  await expect(page.getByTestId("new-posts")).toHaveText("2 new posts");
  await page.getByTestId("new-posts").click();
  await expect(page.getByTestId("post-text")).toHaveText(["So have we", "I have", "Not I"]);
  await expect(page.getByTestId("new-posts")).toHaveCount(0);

  await page.getByTestId("list-everything").click();
  await expect(page.getByTestId("new-posts")).toHaveText("4 new posts");
  await page.getByTestId("new-posts").click();
  await expect(page.getByTestId("post-text")).toHaveText(["So have we", "I have", "Nothing for this list", "Not I", "Who has seen the wreck?"]);
  await deleteContent(finn, second);
  await expect(postWith(page, "So have we")).toHaveCount(0);
  await page.getByTestId("list-reply").click();
  await expect(page.getByTestId("post-text")).toHaveText(["I have", "Not I"]);
});

test("one's own post goes to the lists of its kind at once", async ({ page }) => {
  const asked = await publish(finn, "Who has seen the wreck?");
  await reply(finn, asked, "I have");
  await openAs(page, vera, "/#/posts");
  await expect(page.getByTestId("post-text")).toHaveText(["Who has seen the wreck?"]);
  await page.getByTestId("list-reply").click();
  await expect(page.getByTestId("post-text")).toHaveText(["I have"]);
  await write(page, "Off to the pier");
  await expect(page.getByTestId("compose-text")).toHaveValue("");
  await expect(page.getByTestId("post-text")).toHaveText(["I have"]);
  await page.goBack();
  await expect(page.getByTestId("post-text")).toHaveText(["Off to the pier", "Who has seen the wreck?"]);
});

test("a list of one kind is read again when the viewer follows somebody on another device", async ({ page }) => {
  const asked = await publish(nell, "Who has seen the wreck?");
  await reply(nell, asked, "Nobody, it seems");
  await openAs(page, vera, "/#/replies");
  await waitUntilLive(page);
  await expect(page.getByTestId("empty-list")).toBeVisible();
  await follow(vera, nell);
  await expect(page.getByTestId("post-text")).toHaveText(["Nobody, it seems"]);
});

test("a list of one kind has what was published while the stream's beginning was being read", async ({ page }) => {
  const asked = await publish(finn, "Who has seen the wreck?");
  let release = () => { /* set below */ };
  const released = new Promise<void>((resolve) => { release = resolve; });
  await page.route("**/graphql", async (route, request) => {
    const { query, variables } = request.postDataJSON() as { query: string; variables: { filter?: unknown } };
    if (query.startsWith("query Timeline") && variables.filter === undefined) await released;
    await route.continue();
  });
  await openAs(page, vera, "/#/replies");
  await expect(page.getByTestId("viewer-card")).toBeVisible();
  await reply(finn, asked, "I have");
  release();
  await waitUntilLive(page);
  await expect(page.getByTestId("post-text")).toHaveText(["I have"]);
});

test("going back to a list of one kind returns to the place", async ({ page }) => {
  const asked = await publish(finn, "Who has seen the wreck?");
  await replyMany(finn, asked, numbered("Seen from pier", 25));
  await openAs(page, vera, "/#/replies");
  await scrollTo(page, page.getByTestId("feed-end"));
  await postWith(page, "Seen from pier 3").scrollIntoViewIfNeeded();
  const place = await page.evaluate(() => window.scrollY);
  expect(place).toBeGreaterThan(500);
  await postWith(page, "Seen from pier 3").getByTestId("post-author").click();
  await expect(page.getByTestId("profile")).toBeVisible();
  await expect.poll(() => page.evaluate(() => window.scrollY)).toBe(0);
  await page.goBack();
  await expect.poll(() => page.evaluate(() => window.scrollY)).toBe(place);
});

test("a list of one kind that does not load can be tried again", async ({ page }) => {
  const asked = await publish(finn, "Who has seen the wreck?");
  await reply(finn, asked, "I have");
  await openAs(page, vera);
  await waitUntilLive(page);
  await page.route("**/graphql", (route) => route.abort());
  await page.getByTestId("list-reply").click();
  const column = page.getByRole("main");
  await expect(column.getByTestId("failure")).toContainText("did not load");
  const asks = page.waitForRequest("**/graphql");
  await column.getByTestId("retry").click();
  await asks;
  await page.unroute("**/graphql");
  // By itself, too, for who does not ask again.
  await expect(page.getByTestId("post-text")).toHaveText(["I have"]);
  await expect(column.getByTestId("failure")).toHaveCount(0);
});

test("the lists by kind", async ({ page }) => {
  const asked = await publish(finn, "Who has seen the wreck at low tide?");
  await reply(nell, asked, "We counted the ribs: all still there.");
  await reply(finn, asked, "Then it has not moved at all since the storm.");
  await openAs(page, await register("long", "Nobody Yet"), "/#/reposts");
  await expect(page.getByTestId("empty-list")).toBeVisible();
  await takePictures(page, "kinds-empty");
  const context = page.context();
  await page.close();
  const other = await context.newPage();
  await openAs(other, vera, "/#/replies");
  await expect(other.getByTestId("post")).toHaveCount(1);
  await waitUntilLive(other);
  await reply(finn, asked, "And the light was worth it.");
  await expect(other.getByTestId("new-posts")).toBeVisible();
  await takePictures(other, "kinds");
});
