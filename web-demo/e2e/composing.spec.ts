// Writing a post in the sheet over wherever the reader is, with people and pictures. Pictures in test-results/screens/.
import { expect, type Page } from "@playwright/test";
import { follow, numbered, type Person, publishMany, register } from "./api";
import { openAs, postWith, takePictures, waitUntilLive } from "./page";
import { test } from "./test";

let vera: Person;
let finn: Person;

test.use({ viewport: { width: 390, height: 780 } });

test.beforeEach(async () => {
  [vera, finn] = [await register("vera", "Vera Shore"), await register("finn", "Finn Harbour")];
  await follow(vera, finn);
});

const scrollY = (page: Page) => page.evaluate(() => window.scrollY);

test("a post is written over the reader's place, and back closes the sheet, after asking about a draft", async ({ page }) => {
  await publishMany(finn, numbered("Ripple", 12));
  await openAs(page, vera);
  await waitUntilLive(page);
  await postWith(page, "Ripple 3").scrollIntoViewIfNeeded();
  const place = await scrollY(page);
  expect(place).toBeGreaterThan(300);
  await page.getByTestId("compose-open").click();
  await expect(page.getByTestId("compose-text")).toBeFocused();
  await page.goBack();
  await expect(page.getByTestId("sheet")).toHaveCount(0);
  await expect.poll(() => scrollY(page)).toBe(place);

  await page.getByTestId("compose-open").click();
  await page.getByTestId("compose-text").fill("Half a thought");
  await page.goBack();
  await page.getByTestId("draft-go-on").click();
  await expect(page.getByTestId("compose-text")).toHaveValue("Half a thought");
  await page.keyboard.press("Escape");
  await page.getByTestId("draft-keep").click();
  await expect(page.getByTestId("sheet")).toHaveCount(0);
  await page.getByTestId("compose-open").click();
  await expect(page.getByTestId("compose-text")).toHaveValue("Half a thought");
  await page.getByTestId("publish").click();
  await expect(page.getByTestId("sheet")).toHaveCount(0);
  await expect(postWith(page, "Half a thought")).toContainText("now");
  await expect(page.getByTestId("post-text").first()).toHaveText("Half a thought");
});

test("the beginning of an @name offers people, and the keyboard takes one", async ({ page }) => {
  await openAs(page, vera, "/#/explore");
  await page.getByTestId("compose-open").click();
  const field = page.getByTestId("compose-text");
  await expect(field).toHaveAttribute("dir", "auto");
  await field.pressSequentially(`Ask @${finn.handle.slice(0, -1)}`);
  await expect(page.getByRole("option", { selected: true })).toContainText(`@${finn.handle}`);
  await takePictures(page, "compose-names");
  await page.keyboard.press("Enter");
  await expect(field).toHaveValue(`Ask @${finn.handle} `);
  await expect(page.getByTestId("completions")).toHaveCount(0);
});

test("pictures are seen before they are published, several of them, and what would not be shown is refused while it is typed", async ({ page, baseURL }) => {
  await openAs(page, vera);
  await page.getByTestId("compose-open").click();
  for (const place of ["/favicon.svg", "/pictures/5.svg"]) {
    await page.getByTestId("compose-picture").click();
    await page.getByTestId("picture-url").last().fill(new URL(place, baseURL).href);
  }
  const previews = page.getByTestId("picture-preview");
  await expect(previews).toHaveCount(2);
  await expect.poll(() => previews.evaluateAll((all) => all.every((one) => (one as HTMLImageElement).naturalWidth > 0))).toBe(true);
  await takePictures(page, "compose-pictures");
  await page.getByTestId("compose-picture").click();
  const third = page.getByTestId("picture").last();
  for (const [url, refusal] of [["http://pictures.example.org/1.png", "Only pictures from https://"], ["pictures", "not a whole address"]] as const) {
    await third.getByTestId("picture-url").fill(url);
    await expect(third.getByTestId("error-url")).toContainText(refusal);
    await expect(page.getByTestId("publish")).toBeDisabled();
  }
  await third.getByTestId("picture-remove").click();
  await page.getByTestId("compose-text").fill("Two of the harbour");
  await page.getByTestId("publish").click();
  await expect(postWith(page, "Two of the harbour").getByTestId("post-picture")).toHaveCount(2);
});

test("text at twice its size fits on the smallest phone, live regions are always there, and one types in any direction", async ({ page }) => {
  await page.setViewportSize({ width: 320, height: 720 });
  await publishMany(finn, ["The ferry was late again, but the light was worth it."]);
  await page.addInitScript(() => { document.addEventListener("DOMContentLoaded", () => { document.documentElement.style.fontSize = "200%"; }); });
  await openAs(page, vera);
  await expect(page.getByTestId("post")).toHaveCount(1);
  for (const path of ["/#/", `/#/u/${finn.handle}`, `/#/u/${vera.handle}`, "/#/explore", "/#/settings", "/#/muted", "/#/bookmarks", "/#/p/C_AAAAAAAAAAE"]) {
    await page.goto(path);
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    await page.waitForLoadState("networkidle");
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    await page.screenshot({ path: `test-results/screens/twice${path.replaceAll(/[^a-z]+/g, "-")}.png`, animations: "disabled" });
    expect(width, path).toBeLessThanOrEqual(320);
    const inHead = await page.locator(".bar-brand svg, .bar-search input, .compose-button").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON() as DOMRect));
    inHead.sort((one, next) => one.left - next.left).forEach(({ left }, at) => { expect(left, `what stands beside it in the head of ${path}`).toBeGreaterThanOrEqual(inHead[at - 1]?.right ?? 0); });
    expect(inHead.find((one) => one.width > 110), `the search box of ${path}`).toBeDefined();
    const gone = await page.locator("[role=status], [role=alert], [aria-live]").evaluateAll((all) => all.filter((one) => !one.checkVisibility()).length);
    expect(gone, `live regions that are not in the tree, on ${path}`).toBe(0);
    const typed = page.locator("input:not([type=password]), textarea");
    expect(await typed.and(page.locator(":not([dir=auto])")).count(), `fields of one direction, on ${path}`).toBe(0);
  }
});
