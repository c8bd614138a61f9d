// What somebody sees who has no account yet: what others publish, to be looked at, beside the two ways in. Pictures in test-results/screens/.
import { expect, type Page } from "@playwright/test";
import { takePictures, WIDTHS } from "./page";
import { skipWithoutDemo, test } from "./test";

/** How far what was there has moved since the page was opened, as browsers count it. */
function shiftOf(page: Page): Promise<number> {
  return page.evaluate(() => new Promise<number>((resolve) => {
    let sum = 0;
    new PerformanceObserver((list) => { for (const entry of list.getEntries()) sum += (entry as unknown as { value: number }).value; })
      .observe({ type: "layout-shift", buffered: true });
    requestAnimationFrame(() => { setTimeout(() => { resolve(sum); }, 100); });
  }));
}

test.describe("in a seeded world", () => {
  test.beforeEach(async () => {
    await skipWithoutDemo();
  });

  for (const width of WIDTHS) {
    test.describe(`${width} wide`, () => {
      test.use({ viewport: { width, height: 900 } });

      test("the demo's people are read without an account, newest first, and nothing moves when they come", async ({ page }) => {
        let go = () => {};
        const held = new Promise<void>((resolve) => { go = resolve; });
        await page.route("**/graphql", async (route) => {
          expect(route.request().headers().authorization).toBeUndefined();
          await held;
          await route.fallback();
        });
        await page.goto("/");
        await expect(page.getByTestId("sign-in")).toBeVisible();
        await expect(page.getByRole("heading", { level: 2 }).first()).toHaveText("Welcome");
        await expect(page.getByRole("main").getByRole("button").first()).toHaveText("Look around");
        const before = await page.getByTestId("sign-in").boundingBox();
        go();
        const posts = page.getByTestId("glimpse-post");
        await expect(posts).toHaveCount(12);
        const times = await posts.locator("time").evaluateAll((all) => all.map((time) => time.getAttribute("datetime") ?? ""));
        expect(times).toEqual(times.toSorted().toReversed());
        expect(await page.getByTestId("sign-in").boundingBox()).toEqual(before);
        expect(await shiftOf(page)).toBe(0);
        await expect(page.getByTestId("glimpse").locator("a, button, [tabindex]")).toHaveCount(0);
        await takePictures(page, "signed-out", [width]);
      });
    });
  }
});

test("a server without the demo account shows the words and the form alone", async ({ page }) => {
  await page.route("**/graphql", (route) => route.fulfill({ json: { data: { user: null } } }));
  await page.goto("/");
  await expect(page.getByTestId("sign-in")).toBeVisible();
  await page.waitForLoadState("networkidle");
  await expect(page.getByTestId("glimpse")).toHaveCount(0);
  await expect(page.getByTestId("sign-in-demo")).toHaveCount(0);
  await expect(page.getByTestId("failure")).toHaveCount(0);
});
