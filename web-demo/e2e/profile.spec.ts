// What a profile lets one decide: seeing less of somebody, and what one's own says.
import { expect, test } from "@playwright/test";
import { block, follow, like, type Person, publish, register, registerThree } from "./api";
import { namesOf, openAs, postWith, takePicture } from "./page";

let vera: Person;
let finn: Person;
let nell: Person;

test.beforeEach(async () => {
  [vera, finn, nell] = await registerThree();
});

test("a muted one is gone from the timeline and not from their page, until they are unmuted", async ({ page }) => {
  await follow(finn, vera);
  await publish(vera, "Low tide at six");
  await openAs(page, finn, `/#/u/${vera.handle}`);
  await page.getByTestId("boundaries").click();
  await page.getByTestId("mute").click();
  await expect(page.getByTestId("is-muted")).toBeVisible();
  await expect(postWith(page, "Low tide at six")).toBeVisible();
  await page.getByTestId("nav-timeline").click();
  await expect(page.getByTestId("empty-timeline")).toBeVisible();
  await page.goBack();
  await page.getByTestId("boundaries").click();
  await page.getByTestId("mute").click();
  await expect(page.getByTestId("is-muted")).toHaveCount(0);
  await page.getByTestId("nav-timeline").click();
  await expect(postWith(page, "Low tide at six")).toBeVisible();
});

test("a block asks first, ends following on both sides, and is lifted", async ({ page }) => {
  await follow(finn, vera);
  await follow(vera, finn);
  await publish(vera, "Low tide at six");
  await openAs(page, finn, `/#/u/${vera.handle}`);
  const profile = page.getByTestId("profile");
  await page.getByTestId("boundaries").click();
  await page.getByTestId("block").click();
  await page.getByRole("button", { name: "Keep" }).click();
  await expect(postWith(page, "Low tide at six")).toBeVisible();
  await page.getByTestId("block").click();
  await expect(page.getByTestId("block-confirm")).toBeFocused();
  await takePicture(page, "block-asked");
  await page.getByTestId("block-confirm").click();
  await expect(page.getByTestId("is-blocked")).toBeVisible();
  await expect(page.getByTestId("post")).toHaveCount(0);
  await expect(profile.getByTestId("follow")).toHaveCount(0);
  await expect(profile.getByTestId("follower-count")).toHaveText("0");
  await expect(profile.getByTestId("following-count")).toHaveText("0");
  await takePicture(page, "blocked");
  await page.getByTestId("block").click();
  await expect(page.getByTestId("is-blocked")).toHaveCount(0);
  await expect(postWith(page, "Low tide at six")).toBeVisible();
  await expect(profile.getByTestId("follow")).toHaveText("Follow");
});

test("whoever blocks is in no list that the other reads, and is counted", async ({ page }) => {
  const post = await publish(vera, "Low tide at six");
  for (const other of [finn, nell]) {
    await follow(other, vera);
    await follow(vera, other);
    await like(other, post);
  }
  await block(nell, finn);
  await openAs(page, finn, `/#/u/${vera.handle}/followers`);
  await expect(namesOf(page)).toHaveText(["Finn Harbour"]);
  await page.getByTestId("tab-following").click();
  await expect(namesOf(page)).toHaveText(["Finn Harbour"]);
  await page.goto(`/#/p/${post}/likes`);
  await expect(page.getByTestId("like-count")).toHaveText("2 likes");
  await expect(namesOf(page)).toHaveText(["Finn Harbour"]);
});

test("one's own profile is changed, and a refusal stands at its field", async ({ page }) => {
  await openAs(page, vera, `/#/u/${vera.handle}`);
  const profile = page.getByTestId("profile");
  await page.getByTestId("edit-profile").click();
  await expect(page.getByLabel("Name")).toBeFocused();
  await page.getByLabel("Name").fill("Vera of the Bay");
  await page.getByLabel("About you").fill("x".repeat(501));
  await page.getByTestId("profile-save").click();
  await expect(profile.locator(".field-error")).toBeVisible();
  await expect(page.getByLabel("About you")).toHaveAttribute("aria-invalid", "true");
  await takePicture(page, "profile-edited");
  await page.getByLabel("About you").fill("Counts the ribs of the wreck.");
  await page.getByTestId("profile-save").click();
  await expect(page.getByTestId("profile-form")).toHaveCount(0);
  await expect(page.getByTestId("edit-profile")).toBeFocused();
  await expect(profile.getByRole("heading", { name: "Vera of the Bay" })).toBeVisible();
  await expect(profile).toContainText("Counts the ribs of the wreck.");
  await expect(page.getByTestId("viewer-card")).toContainText("Vera of the Bay");
});

test("a name that is written from right to left turns nothing round it", async ({ page }) => {
  const turned = await register("rana", "רנה");
  await follow(vera, turned);
  await publish(turned, "שלום");
  await openAs(page, vera);
  const handle = page.getByTestId("post-author").locator("span");
  await expect(handle).toHaveText(`@${turned.handle}`);
  const [first, last] = await handle.evaluate(({ firstChild, lastChild }) => [firstChild, lastChild].map((text, end) => {
    const range = document.createRange();
    const at = end === 0 ? 0 : (text?.textContent?.length ?? 1) - 1;
    range.setStart(text as Node, at);
    range.setEnd(text as Node, at + 1);
    return range.getBoundingClientRect().left;
  }));
  expect(first).toBeLessThan(last ?? 0);
  await expect(page.getByTestId("post-text")).toHaveCSS("direction", "rtl");
});
