// The `test` of every file here: Playwright's, and what a test has held up or let through has no say any more once the test has ended.
import { test as base } from "@playwright/test";
import { hasDemo } from "./api";

export const test = base.extend({
  page: async ({ page }, run) => {
    await run(page);
    if (!page.isClosed()) await page.unrouteAll({ behavior: "ignoreErrors" });
  },
});

/** Skips the test, and says so, where the server has no seeded world. */
export async function skipWithoutDemo() {
  if (await hasDemo()) return;
  const reason = "the server has no user \"demo\": fill its database with `tidefeed seed`";
  console.warn(`NOT RUN: ${reason}`);
  test.skip(true, reason);
}
