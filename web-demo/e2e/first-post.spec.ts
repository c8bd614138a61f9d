// How long a signed-in reader waits for the first post on a slow phone. `npm run first-post` prints a table of several tries; among the other tests there
// is one try, so that the table can be made, and no time is asserted: machines differ.
import { expect, type Browser } from "@playwright/test";
import { signInDemo, type Person } from "./api";
import { bytesBy, openAs, timeOf, type Transfer, transfersOf } from "./page";
import { skipWithoutDemo, test } from "./test";

const TRIES = Number(process.env.TRIES ?? 1);
const LIMIT_MS = 2_000;
/** Slow 4G: milliseconds for each request, bytes a second. */
const SLOW_4G = { offline: false, latency: 150, downloadThroughput: 1_600_000 / 8, uploadThroughput: 750_000 / 8 };
const SLOWER = 4;

interface Visit {
  /** Milliseconds after the beginning. */
  firstPaint: number;
  firstPost: number;
  /** Bytes that had come over the line by then, and in the end. */
  bytes: number;
  allBytes: number;
  transfers: Transfer[];
}

/** One visit with nothing in the cache. */
async function visit(browser: Browser, demo: Person): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true });
  const page = await context.newPage();
  await page.addInitScript(() => {
    new MutationObserver((_, observer) => {
      if (document.querySelector("[data-testid=post-text]") === null) return;
      observer.disconnect();
      // The second frame begins when the first one, which has the post, is on the screen.
      requestAnimationFrame(() => { requestAnimationFrame(() => { performance.mark("first-post"); }); });
    }).observe(document, { childList: true, subtree: true });
  });
  const devtools = await context.newCDPSession(page);
  await devtools.send("Network.enable");
  await devtools.send("Network.emulateNetworkConditions", SLOW_4G);
  await devtools.send("Emulation.setCPUThrottlingRate", { rate: SLOWER });
  await openAs(page, demo);
  await page.waitForFunction(() => performance.getEntriesByName("first-post").length > 0);
  await page.waitForLoadState("networkidle");
  const [firstPaint, firstPost, transfers] = await Promise.all([timeOf(page, "first-contentful-paint"), timeOf(page, "first-post"), transfersOf(page)]);
  await context.close();
  return { firstPaint, firstPost, bytes: bytesBy(firstPost, transfers), allBytes: bytesBy(Infinity, transfers), transfers };
}

const median = (numbers: number[]) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? NaN;

test("the first post on a slow phone", async ({ browser }) => {
  await skipWithoutDemo();
  test.setTimeout(180_000 * TRIES);
  const demo = await signInDemo();
  const visits: Visit[] = [];
  for (let nth = 0; nth < TRIES; nth += 1) visits.push(await visit(browser, demo));
  const row = (name: string, { firstPaint, firstPost, bytes, allBytes }: Omit<Visit, "transfers">) =>
    `| ${[name, firstPaint.toFixed(0), firstPost.toFixed(0), (firstPost / LIMIT_MS).toFixed(2), bytes, allBytes].join(" | ")} |`;
  const of = (name: keyof Omit<Visit, "transfers">) => median(visits.map((one) => one[name]));
  console.log([
    "| try | first paint, ms | first post, ms | of 2 s | bytes until then | bytes in all |", "| --- | --- | --- | --- | --- | --- |",
    ...visits.map((one, nth) => row(String(nth + 1), one)),
    row("median", { firstPaint: of("firstPaint"), firstPost: of("firstPost"), bytes: of("bytes"), allBytes: of("allBytes") }),
    "", "What the last try asked for, from when to when, in ms:",
    ...(visits.at(-1)?.transfers ?? []).map(({ path, from, to, bytes }) => `${from.toFixed(0).padStart(6)} - ${to.toFixed(0).padStart(5)} ${String(bytes).padStart(7)} bytes  ${path}`),
  ].join("\n"));
  expect(visits.every(({ firstPaint, firstPost }) => firstPaint <= firstPost && firstPost < Infinity)).toBe(true);
});
