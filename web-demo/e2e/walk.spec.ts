// Pictures of the seeded world: a walk of four on a phone, which docs/comparison.md shows, and the timeline on a desk for README.md. `npm run walk` writes them to docs/pictures/, other runs to test-results/walk/.
import { mkdir, writeFile } from "node:fs/promises";
import { expect, type Page } from "@playwright/test";
import { scrollTo, waitUntilLive } from "./page";
import { skipWithoutDemo, test } from "./test";

const FOLDER = process.env.WALK ?? "test-results/walk";

test.use({ viewport: { width: 390, height: 780 }, deviceScaleFactor: 1.5 });

/** As WebP, which the browser makes and Playwright does not. */
async function takePictureOf(page: Page, name: string) {
  const pictures = page.getByTestId("post-picture");
  await expect.poll(() => pictures.evaluateAll((all) => all.every((one) => one.getBoundingClientRect().top > window.innerHeight || (one as HTMLImageElement).complete))).toBe(true);
  const { data } = await (await page.context().newCDPSession(page)).send("Page.captureScreenshot", { format: "webp", quality: 62 });
  await mkdir(FOLDER, { recursive: true });
  await writeFile(`${FOLDER}/${name}.webp`, Buffer.from(data, "base64"));
}

test("a walk: looking in, the timeline, a thread, somebody's pictures", async ({ page }) => {
  await skipWithoutDemo();

  await page.goto("/");
  await expect(page.getByTestId("glimpse-post").first()).toBeVisible();
  await takePictureOf(page, "walk-1-welcome");

  await page.getByTestId("sign-in-demo").click();
  const picture = page.getByTestId("post").filter({ has: page.getByTestId("post-picture") }).first();
  await scrollTo(page, picture);
  await picture.evaluate((post) => { window.scrollTo(0, post.getBoundingClientRect().top + scrollY - 130); });
  const author = await picture.getByTestId("post-author").first().locator("span").textContent();
  await takePictureOf(page, "walk-2-timeline");

  await page.emulateMedia({ colorScheme: "dark" });
  await page.goto("/#/u/demo");
  await page.getByTestId("post").filter({ hasText: "I am here to look around" }).getByTestId("reply").click();
  await expect(page.getByTestId("feed").getByTestId("post-text").first()).toContainText("Welcome aboard");
  await takePictureOf(page, "walk-3-thread");

  await page.goto(`/#/u/${author?.replace("@", "") ?? ""}`);
  await page.getByTestId("list-media").click();
  await expect(page.getByTestId("post-picture").first()).toBeVisible();
  await page.evaluate(() => { window.scrollTo(0, 340); });
  await takePictureOf(page, "walk-4-pictures");
});

test.describe("on a desk", () => {
  test.use({ viewport: { width: 1280, height: 1000 }, deviceScaleFactor: 1 });

  test("the timeline beside the navigation, as the README shows it", async ({ page }) => {
    await skipWithoutDemo();
    await page.goto("/");
    await page.getByTestId("sign-in-demo").click();
    await expect(page.getByTestId("post").first()).toBeVisible();
    await waitUntilLive(page);
    await takePictureOf(page, "timeline");
  });
});
