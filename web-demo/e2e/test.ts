// The `test` of every file here: Playwright's, and what a test has held up or let through has no say any more once the test has ended.
import { test as base } from "@playwright/test";

export const test = base.extend({
  page: async ({ page }, run) => {
    await run(page);
    if (!page.isClosed()) await page.unrouteAll({ behavior: "ignoreErrors" });
  },
});
