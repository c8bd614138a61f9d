// What there is to see of a page before all of it has come, and how much has to come for that.
import { expect } from "@playwright/test";
import { publish, register } from "./api";
import { bytesBy, openAs, timeOf, transfersOf, waitUntilLive } from "./page";
import { test } from "./test";

for (const [path, words] of [["/", "Tidefeed"], ["/graphiql/", "GraphiQL is loading…"]] as const) {
  test(`${path} shows something before its script has loaded`, async ({ page }) => {
    await page.route("**/assets/*.js", () => { /* does not come */ });
    await page.goto(path, { waitUntil: "commit" });
    await expect(page.getByText(words)).toBeVisible();
    await page.screenshot({ path: `test-results/screens/loading${path.replaceAll("/", "-")}.png` });
  });
}

test("the timeline is asked for while the script that shows it is still on its way", async ({ page }) => {
  let letThrough = () => { /* set below */ };
  const isLetThrough = new Promise<void>((resolve) => { letThrough = resolve; });
  await page.route("**/assets/show-*.js", async (route) => {
    await isLetThrough;
    await route.continue();
  });
  const asked = page.waitForRequest((request) => request.postData()?.includes("timeline(") ?? false);
  const author = await register("early", "Early Bird");
  await publish(author, "Asked for early.");
  await openAs(page, author);
  const answer = await (await asked).response();
  expect(answer?.status()).toBe(200);
  await expect(page.locator(".loading")).toBeVisible();
  letThrough();
  await expect(page.getByText("Asked for early.")).toBeVisible();
});

test("the timeline takes no more than 150 kB, and GraphiQL shows something within 500 kB", async ({ page, browser, baseURL }) => {
  const light = await register("light", "Light Load");
  await openAs(page, light);
  await waitUntilLive(page);
  const all = bytesBy(Infinity, await transfersOf(page));
  expect(all).toBeLessThan(150_000);
  let shown = 0;
  // Everything may be there before the browser gets round to its first frame.
  await expect(async () => {
    const fresh = await (await browser.newContext({ baseURL })).newPage();
    await openAs(fresh, light, "/graphiql/");
    await expect(fresh.locator(".graphiql-query-editor")).toContainText("MyTimeline");
    shown = bytesBy(await timeOf(fresh, "first-contentful-paint"), await transfersOf(fresh));
    await fresh.context().close();
    expect(shown).toBeGreaterThan(0);
    expect(shown).toBeLessThan(500_000);
  }).toPass({ timeout: 30_000 });
  console.log(`the timeline: ${all} bytes; GraphiQL: ${shown} until something is shown`);
});
