// Looking around in a seeded world, as whoever opens the page for the first time does.
import { expect, test } from "@playwright/test";
import { hasDemo } from "./api";

test("the demo account looks around, past the first page", async ({ page }) => {
  const skipped = await hasDemo() ? null : "the server has no user \"demo\": fill its database with `tidefeed seed`";
  if (skipped !== null) console.warn(`NOT RUN: ${skipped}`);
  test.skip(skipped !== null, skipped ?? "");
  await page.goto("/");
  await page.getByTestId("sign-in-demo").click();
  await expect(page.getByTestId("composer")).toBeVisible();
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
