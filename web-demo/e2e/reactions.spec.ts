// Likes and favourites, and the line above what has been read.
import { expect } from "@playwright/test";
import { follow, publish, publishMany, register } from "./api";
import { openAs, postWith, waitUntilLive } from "./page";
import { test } from "./test";

test("a like and a favourite are counted, shown as one's own, kept over a reload, and taken back", async ({ page }) => {
  const reader = await register("reader", "Rita Reader");
  const writer = await register("writer", "Walt Writer");
  await follow(reader, writer);
  await publish(writer, "Worth a like");

  await openAs(page, reader);
  const post = postWith(page, "Worth a like");
  const like = post.getByRole("button", { name: "Like" });
  const favourite = post.getByRole("button", { name: "Favourite" });
  await expect(like).toHaveAttribute("aria-pressed", "false");
  await like.click();
  await favourite.click();
  await expect(like).toHaveAttribute("aria-pressed", "true");
  await expect(post.getByTestId("heart")).toHaveText("1");
  await expect(favourite).toHaveAttribute("aria-pressed", "true");
  await page.reload();
  await expect(like).toHaveAttribute("aria-pressed", "true");
  await like.click();
  await expect(like).toHaveAttribute("aria-pressed", "false");
  await expect(post.getByTestId("heart")).toHaveText("");
  await expect(favourite).toHaveAttribute("aria-pressed", "true");
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
  expect(order).toEqual(["New since then", "You have read from here on", "Read last on the phone", "Read on the phone"]);
  await postWith(page, "New since then").focus();
  await page.keyboard.press("PageDown");
  await expect(postWith(page, "Read last on the phone")).toBeFocused();
});
