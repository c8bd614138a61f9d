// Hiding from a follower, and the lists of those whom the viewer keeps out. Pictures in test-results/screens/.
import { expect, type Page } from "@playwright/test";
import { block, follow, hideFrom, mute, numbered, type Person, publish, register, registerThree } from "./api";
import { AFTER_ALL_TRIES, choose, namesOf, openAs, postWith, scrollTo, takePictures, waitUntilLive } from "./page";
import { test } from "./test";

let vera: Person;
let finn: Person;
let nell: Person;

test.beforeEach(async () => {
  [vera, finn, nell] = await registerThree();
});

/** Opens the profile of `other` and presses the button that hides from them, or ends that. */
async function toggleHiding(page: Page, other: Person) {
  await page.goto(`/#/u/${other.handle}`);
  await choose(page.getByTestId("profile"), "hide");
}

test("who is hidden from loses the posts at once and is given them back, and the profile stays public", async ({ page, browser, baseURL }) => {
  await follow(finn, vera);
  await publish(vera, "Low tide at six");
  await publish(finn, "My own words");
  const follower = await (await browser.newContext({ baseURL })).newPage();
  await openAs(follower, finn);
  await waitUntilLive(follower);
  await expect(postWith(follower, "Low tide at six")).toBeVisible();

  await openAs(page, vera);
  await toggleHiding(page, finn);
  await expect(page.getByTestId("is-hidden")).toBeVisible();
  await page.getByTestId("exclusions").click();
  await expect(page.getByTestId("hide")).toHaveText(`Show my posts to @${finn.handle}`);
  await page.keyboard.press("Escape");
  await expect(page.getByTestId("exclusions")).toBeFocused();
  await expect(follower.getByTestId("post-text")).toHaveText(["My own words"]);
  await follower.goto(`/#/u/${vera.handle}`);
  await expect(postWith(follower, "Low tide at six")).toBeVisible();
  await expect(follower.getByTestId("profile").getByTestId("follow")).toHaveText(/Following/);
  await follower.goto("/#/");

  await page.reload();
  await expect(page.getByTestId("is-hidden")).toBeVisible();
  await toggleHiding(page, finn);
  await expect(page.getByTestId("is-hidden")).toHaveCount(0);
  await follower.reload();
  await expect(follower.getByTestId("post-text")).toHaveText(["My own words", "Low tide at six"]);
  await follower.context().close();
});

test("hiding changes nothing in one's own timeline", async ({ page }) => {
  await follow(vera, finn);
  await publish(finn, "The ferry was late");
  await openAs(page, vera);
  await toggleHiding(page, finn);
  await expect(page.getByTestId("is-hidden")).toBeVisible();
  await page.getByTestId("nav-timeline").click();
  await expect(postWith(page, "The ferry was late")).toBeVisible();
});

test("whoever is kept out stands in the list that says how, and stays there until the next visit", async ({ page }) => {
  const otto = await register("otto", "Otto Offshore");
  await mute(vera, finn);
  await hideFrom(vera, nell);
  await hideFrom(vera, otto);
  await block(vera, otto);
  await openAs(page, vera, `/#/u/${vera.handle}`);
  await page.getByTestId("kept-out").click();
  await expect(namesOf(page)).toHaveText(["Finn Harbour"]);
  await page.getByTestId("tab-block").click();
  await expect(namesOf(page)).toHaveText(["Otto Offshore"]);
  await page.getByTestId("tab-hide").click();
  await expect(namesOf(page)).toHaveText(["Nell Newcomer", "Otto Offshore"]);

  await page.getByRole("button", { name: "Unhide Nell Newcomer" }).click();
  await expect(page.getByRole("button", { name: "Hide Nell Newcomer" })).toBeVisible();
  await expect(namesOf(page)).toHaveText(["Nell Newcomer", "Otto Offshore"]);
  await page.getByTestId("tab-mute").click();
  await page.getByRole("button", { name: "Unmute Finn Harbour" }).click();
  await expect(page.getByRole("button", { name: "Mute Finn Harbour" })).toBeVisible();
  await page.getByTestId("tab-hide").click();
  await expect(namesOf(page)).toHaveText(["Otto Offshore"]);
  await page.getByTestId("tab-mute").click();
  await expect(page.getByTestId("nobody")).toContainText("You have not muted anyone");
});

test("a long list of those who are kept out goes on past its first page", async ({ page }) => {
  for (const name of numbered("Stranger", 23)) await mute(vera, await register("stranger", name));
  await openAs(page, vera, "/#/muted");
  await scrollTo(page, page.getByTestId("people-end"));
  await expect(namesOf(page)).toHaveText(numbered("Stranger", 23));
});

test("hiding that does not get through is told, and nothing looks hidden", async ({ page }) => {
  await openAs(page, vera, `/#/u/${finn.handle}`);
  await expect(page.getByTestId("profile")).toBeVisible();
  await page.route("**/graphql", (route) => route.abort());
  await choose(page.getByTestId("profile"), "hide");
  await expect(page.getByTestId("profile").getByRole("alert")).toContainText("cannot be reached", AFTER_ALL_TRIES);
  await expect(page.getByTestId("is-hidden")).toHaveCount(0);
  await page.unroute("**/graphql");
  await choose(page.getByTestId("profile"), "hide");
  await expect(page.getByTestId("is-hidden")).toBeVisible();
  await expect(page.getByTestId("profile").getByRole("alert")).toHaveCount(0);
});

test("keeping people out", async ({ page }) => {
  const long = await register("a_handle_as_long_as", "Wilhelmina Featherstonehaugh-Cholmondeley of the Outer Banks");
  await hideFrom(vera, long);
  await mute(vera, finn);
  await openAs(page, vera);
  await toggleHiding(page, finn);
  await expect(page.getByTestId("is-hidden")).toBeVisible();
  await takePictures(page, "hidden");
  await page.goto(`/#/u/${vera.handle}`);
  await expect(page.getByTestId("kept-out")).toBeVisible();
  await takePictures(page, "hidden-own");
  await page.goto("/#/hidden");
  await expect(page.getByTestId("person")).toHaveCount(2);
  await takePictures(page, "hidden-list");
  await page.getByTestId("tab-block").click();
  await expect(page.getByTestId("nobody")).toBeVisible();
  await takePictures(page, "hidden-nobody");
});
