// Likes and bookmarks, and the line above what has been read.
import { expect, type Request } from "@playwright/test";
import { follow, publish, publishMany, register } from "./api";
import { openAs, postWith, untilAnswered, waitUntilLive } from "./page";
import { test } from "./test";

test("a like is counted for everybody and a bookmark for its author, both are one's own, kept over a reload, and taken back", async ({ page, browser, baseURL }) => {
  const reader = await register("reader", "Rita Reader");
  const writer = await register("writer", "Walt Writer");
  await follow(reader, writer);
  await publish(writer, "Worth a like");

  await openAs(page, reader);
  const post = postWith(page, "Worth a like");
  const like = post.getByRole("button", { name: "Like" });
  const bookmark = post.getByRole("button", { name: "Bookmark" });
  await expect(like).toHaveAttribute("aria-pressed", "false");
  await untilAnswered(page, "likeContent", () => like.click());
  await untilAnswered(page, "bookmarkContent", () => bookmark.click());
  await expect(like).toHaveAttribute("aria-pressed", "true");
  await expect(post.getByTestId("heart")).toHaveText("1");
  await expect(bookmark).toHaveAttribute("aria-pressed", "true");
  await expect(post.getByTestId("bookmark")).toHaveText("");
  const authors = await (await browser.newContext({ baseURL })).newPage();
  await openAs(authors, writer);
  await expect(postWith(authors, "Worth a like").getByTestId("bookmark")).toHaveText("1");
  await authors.close();
  await page.reload();
  await expect(like).toHaveAttribute("aria-pressed", "true");
  await like.click();
  await expect(like).toHaveAttribute("aria-pressed", "false");
  await expect(post.getByTestId("heart")).toHaveText("");
  await expect(bookmark).toHaveAttribute("aria-pressed", "true");
  await bookmark.click();
  await expect(bookmark).toHaveAttribute("aria-pressed", "false");
});

test("the timeline does not count as read while another page is in front", async ({ page }) => {
  const reader = await register("reader", "Rita Reader");
  const writer = await register("writer", "Walt Writer");
  await follow(reader, writer);
  await publishMany(writer, ["Not read yet", "Nor that"]);
  const isMark = (request: Request) => /\bmarkTimelineRead\(/.test(request.postData() ?? "");
  let marks = 0;
  page.on("request", (request) => { marks += isMark(request) ? 1 : 0; });
  await page.clock.install();
  await openAs(page, reader, `/@${writer.handle}`);
  await expect(postWith(page, "Nor that")).toBeVisible();
  await page.waitForLoadState("networkidle");
  await page.clock.runFor(5_000);
  expect(marks).toBe(0);
  const marked = page.waitForRequest(isMark);
  await page.getByTestId("nav-timeline").click();
  await expect(postWith(page, "Nor that")).toBeVisible();
  await page.clock.runFor(5_000);
  await marked;
});

test("what was read on one device has a line above it on another", async ({ page, browser, baseURL }) => {
  const reader = await register("reader", "Rita Reader");
  const writer = await register("writer", "Walt Writer");
  await follow(reader, writer);
  await publishMany(writer, ["Read on the phone", "Read last on the phone"]);
  const phone = await (await browser.newContext({ baseURL })).newPage();
  const marked = phone.waitForResponse(async (response) => /"markTimelineRead":{/.test(await response.text().catch(() => "")));
  await openAs(phone, reader);
  await expect(postWith(phone, "Read last on the phone")).toBeVisible();
  await marked;
  await phone.close();

  await publish(writer, "New since then");
  await openAs(page, reader);
  await waitUntilLive(page);
  await expect(page.getByTestId("read-up-to")).toBeVisible();
  const order = await page.locator("[data-testid=post-text], [data-testid=read-up-to]").allTextContents();
  expect(order).toEqual(["New since then", "New posts are above. You have read everything below.", "Read last on the phone", "Read on the phone"]);
  await postWith(page, "New since then").focus();
  await page.keyboard.press("PageDown");
  await expect(postWith(page, "Read last on the phone")).toBeFocused();
});
