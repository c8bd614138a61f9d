// Steps that several tests take on the page.
import { AxeBuilder } from "@axe-core/playwright";
import { expect, type Locator, type Page, test } from "@playwright/test";
import type { Person } from "./api";

/** Opens `path` with `person` signed in, without going through the form. */
export async function openAs(page: Page, person: Person, path = "/") {
  const { token, handle, expiresAt, refreshToken } = person;
  await page.addInitScript(([key, value]) => {
    if (sessionStorage.getItem("seeded") !== null) return;
    sessionStorage.setItem("seeded", "yes");
    localStorage.setItem(key, value);
  }, ["tidefeed.session", JSON.stringify({ token, handle, expiresAt, refreshToken })] as const);
  await page.goto(path);
}

export async function openSettings(page: Page, person: Person) {
  await openAs(page, person);
  await page.getByTestId("nav-settings").click();
  await expect(page.getByTestId("current-session")).toBeVisible();
}

export async function signUp(page: Page, handle: string, name: string) {
  await page.goto("/");
  await page.getByTestId("switch-form").click();
  await page.getByLabel("Handle").fill(handle);
  await page.getByLabel("Name", { exact: true }).fill(name);
  await page.getByLabel("Password").fill(`pass-${handle}`);
  await page.getByTestId("sign-up").click();
  await expect(page.getByTestId("composer")).toBeVisible();
}

export async function waitUntilLive(page: Page) {
  await expect(page.getByTestId("live")).toHaveText("Live");
}

export function postWith(page: Page, text: string): Locator {
  return page.getByTestId("post").filter({ has: page.getByText(text, { exact: true }) });
}

/** The names on a list of people. */
export function namesOf(page: Page): Locator {
  return page.getByTestId("person").locator("strong");
}

export async function findAndFollow(page: Page, handle: string) {
  await page.getByTestId("search-input").fill(handle);
  const found = page.getByTestId("search-results").getByTestId("person").filter({ has: page.getByText(`@${handle}`, { exact: true }) });
  await untilAnswered(page, "followUser", () => found.getByTestId("follow").click());
  await expect(found.getByTestId("follow")).toContainText("Following");
  await page.keyboard.press("Escape");
  await expect(page.getByTestId("search-results")).toHaveCount(0);
}

/**
 * Does `act`, and waits until the server has answered the mutation `field` that it sends. The page shows what the viewer does at once: a reload that comes
 * before the answer ends the request, and another client may be ahead of it.
 */
export async function untilAnswered(page: Page, field: string, act: () => Promise<void>) {
  const isOf = new RegExp(`\\b${field}\\(`);
  const answer = page.waitForResponse((response) => isOf.test(response.request().postData() ?? ""));
  await act();
  await (await answer).finished();
}

/** Opens the menu of a post or a profile, and chooses from it. */
export async function choose(place: Locator, item: string) {
  await place.getByTestId(/^(more|exclusions)$/).click();
  await place.getByTestId(item).click();
}

export async function write(page: Page, text: string) {
  await page.getByTestId("compose-text").fill(text);
  await page.getByTestId("publish").click();
}

/** Scrolls down until `target` is there; the pages in between load as the reader comes near. */
export async function scrollTo(page: Page, target: Locator) {
  await expect(async () => {
    await page.evaluate(() => { window.scrollTo(0, document.body.scrollHeight); });
    await expect(target).toBeVisible({ timeout: 250 });
  }).toPass();
}

/** What came over the line: when it was asked for and was there, in ms after the page's beginning, and its bytes. */
export interface Transfer { path: string; from: number; to: number; bytes: number }

export function transfersOf(page: Page): Promise<Transfer[]> {
  return page.evaluate(() => {
    const came = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")] as PerformanceResourceTiming[];
    return came.map((one) => ({ path: new URL(one.name).pathname, from: one.startTime, to: one.responseEnd, bytes: one.transferSize }));
  });
}

/** The bytes of all that was there by `time`. */
export function bytesBy(time: number, transfers: readonly Transfer[]): number {
  return transfers.filter(({ to }) => to <= time).reduce((sum, { bytes }) => sum + bytes, 0);
}

/** When something was first painted, or a mark was set, in ms after the page's beginning; never is infinitely late. */
export function timeOf(page: Page, name: string): Promise<number> {
  return page.evaluate((entry) => performance.getEntriesByName(entry)[0]?.startTime ?? Infinity, name);
}

/** What may be asked again is tried four times before the page says that the server cannot be reached: up to 7 s of waiting, and the tries. */
export const AFTER_ALL_TRIES = { timeout: 60_000 };

/** The widths at which pages are looked at: the smallest phone, most phones, a tablet, a desk. */
export const WIDTHS = [320, 375, 768, 1280];

/** Rules of axe that depend on colours, which are all that a dark page differs by. */
const OF_COLOURS = ["color-contrast", "link-in-text-block"];

/** Pictures of what the page shows now, at each width, light and dark; see `takePicture`. */
export async function takePictures(page: Page, name: string, widths: readonly number[] = WIDTHS) {
  const before = page.viewportSize();
  test.info().setTimeout(test.info().timeout + widths.length * 20_000);
  for (const width of widths) {
    await resizeTo(page, width);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await takePicture(page, `${name}-${colorScheme}-${width}`, colorScheme === "dark" ? OF_COLOURS : []);
    }
    await page.emulateMedia({ colorScheme: null });
  }
  if (before !== null) await page.setViewportSize(before);
}

/** As `takePictures`, of what closes when the window changes its size: `open` opens it at each width. */
export async function takePicturesOpen(page: Page, name: string, open: () => Promise<void>) {
  const before = page.viewportSize();
  for (const width of WIDTHS) {
    await resizeTo(page, width);
    await open();
    await takePictures(page, name, [width]);
    await page.keyboard.press("Escape");
  }
  if (before !== null) await page.setViewportSize(before);
}

function resizeTo(page: Page, width: number) {
  return page.setViewportSize({ width, height: width < 800 ? 720 : 900 });
}

/** A picture to be looked at; nothing on the page may be cut off at its side, and axe finds nothing in it by these rules, or any (WCAG 2.2 A and AA, best practices). */
export async function takePicture(page: Page, name: string, rules: string[] = []) {
  const cutOff = await page.locator(".feed, body").evaluateAll((boxes) => boxes.filter((box) => box.scrollWidth > box.clientWidth).length);
  expect(cutOff, "boxes whose content is cut off at the side").toBe(0);
  await page.screenshot({ path: `test-results/screens/${name}.png`, animations: "disabled" });
  // No frame here is of another origin, for which it would otherwise open one more page each time. To describe what is well, too, would take most of its time.
  const axe = new AxeBuilder({ page }).setLegacyMode(true).options({ resultTypes: ["violations"] });
  const { violations } = await (rules.length === 0 ? axe : axe.withRules(rules)).analyze();
  expect(violations.map(({ id, nodes }) => [id, ...nodes.map(({ target, failureSummary }) => `${target.join(" ")}: ${failureSummary}`)]), `what axe finds in ${name}`).toEqual([]);
}
