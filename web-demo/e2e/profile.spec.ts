// What a profile lets one decide: seeing less of somebody, and what one's own says.
import { setTimeout } from "node:timers/promises";
import { expect } from "@playwright/test";
import { block, follow, like, numbered, type Person, publish, publishMany, register, registerThree, reply, repost } from "./api";
import { choose, namesOf, openAs, postWith, scrollTo, takePictures, takePicturesOpen, untilAnswered } from "./page";
import { test } from "./test";

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
  await choose(page.getByTestId("profile"), "mute");
  await expect(page.getByTestId("is-muted")).toBeVisible();
  await expect(postWith(page, "Low tide at six")).toBeVisible();
  await page.getByTestId("nav-timeline").click();
  await expect(page.getByTestId("empty-timeline")).toBeVisible();
  await page.goBack();
  await choose(page.getByTestId("profile"), "mute");
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
  await expect(profile.getByRole("button").first()).toHaveAccessibleName("Following Vera Shore");
  await takePicturesOpen(page, "menu-profile", () => profile.getByTestId("exclusions").click());
  await choose(profile, "block");
  await page.getByRole("button", { name: "Cancel" }).click();
  await expect(postWith(page, "Low tide at six")).toBeVisible();
  await choose(profile, "block");
  await expect(page.getByTestId("block-confirm")).toBeFocused();
  await takePictures(page, "block-asked");
  await page.getByTestId("block-confirm").click();
  await expect(page.getByTestId("is-blocked")).toBeVisible();
  await expect(page.getByTestId("post")).toHaveCount(0);
  await expect(profile.getByTestId("follow")).toHaveCount(0);
  await expect(profile.getByTestId("follower-count")).toHaveText("0");
  await expect(profile.getByTestId("following-count")).toHaveText("0");
  await takePictures(page, "blocked");
  await choose(profile, "block");
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
  await expect(page.getByLabel("Name", { exact: true })).toBeFocused();
  await page.getByLabel("Name", { exact: true }).fill("Vera of the Bay");
  await page.getByLabel("About you").fill("x".repeat(501));
  await page.getByTestId("profile-save").click();
  await expect(profile.locator(".field-error")).toBeVisible();
  await expect(page.getByLabel("About you")).toHaveAttribute("aria-invalid", "true");
  await takePictures(page, "profile-edited");
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

test("a profile has a list for each kind, each with its own end, and the header stays", async ({ page }) => {
  const asked = await publish(finn, "Who has seen the wreck?");
  for (const text of numbered("Seen from pier", 23)) {
    await reply(vera, asked, text);
    await setTimeout(2);
  }
  await publishMany(vera, numbered("A walk, day", 3));
  await repost(vera, asked);
  await openAs(page, finn, `/#/u/${vera.handle}`);
  await expect(page.getByTestId("list-everything")).toHaveAttribute("aria-current", "page");
  await expect(page.getByTestId("repost-line")).toHaveText([/^Vera Shore reposted/]);
  await page.getByTestId("list-post").click();
  await expect(page.getByTestId("post-text")).toHaveText(numbered("A walk, day", 3).toReversed());
  await takePictures(page, "profile-posts");
  // Without an answer from this handler, the request waits.
  await page.route("**/graphql", (route) => route.request().postData()?.includes("REPLY") === true ? undefined : route.fallback());
  await page.getByTestId("list-reply").click();
  await expect(page.getByTestId("skeletons")).toBeVisible();
  await expect(page.getByTestId("profile").getByRole("heading", { name: "Vera Shore" })).toBeVisible();
  await page.unroute("**/graphql");
  await page.reload();
  await expect(page).toHaveTitle(`Replies of Vera Shore (@${vera.handle}) · Tidefeed`);
  await expect(page.getByTestId("in-reply-to").first()).toBeVisible();
  await scrollTo(page, page.getByTestId("feed-end"));
  await expect(page.getByTestId("post-text")).toHaveText(numbered("Seen from pier", 23).toReversed());
  await page.getByTestId("list-repost").click();
  await expect(page.getByTestId("post-text")).toHaveText(["Who has seen the wreck?"]);
  await page.goBack();
  await expect(page.getByTestId("list-reply")).toHaveAttribute("aria-current", "page");
  await page.goto(`/#/u/${finn.handle}/reposts`);
  await expect(page.getByTestId("empty-profile")).toContainText("No reposts yet");
});

test("what one likes is a list of one's own profile, and nobody else's", async ({ page }) => {
  for (const text of numbered("Shell", 22)) {
    await like(finn, await publish(vera, text));
    await setTimeout(2);
  }
  await openAs(page, finn, `/#/u/${finn.handle}`);
  await page.getByTestId("list-likes").click();
  await expect(page).toHaveTitle(`Likes of Finn Harbour (@${finn.handle}) · Tidefeed`);
  await expect(page.getByTestId("post-text").first()).toHaveText("Shell 22");
  await scrollTo(page, page.getByTestId("feed-end"));
  await expect(page.getByTestId("post-text")).toHaveText(numbered("Shell", 22).toReversed());
  const heart = postWith(page, "Shell 1").getByRole("button", { name: "Like" });
  await untilAnswered(page, "unlikeContent", () => heart.click());
  await expect(heart).toHaveAttribute("aria-pressed", "false");
  await expect(postWith(page, "Shell 1")).toBeVisible();
  await page.reload();
  await scrollTo(page, page.getByTestId("feed-end"));
  await expect(page.getByTestId("post-text")).toHaveText(numbered("Shell", 22).slice(1).toReversed());
  await page.goto(`/#/u/${vera.handle}`);
  await expect(page.getByTestId("list-repost")).toBeVisible();
  await expect(page.getByTestId("list-likes")).toHaveCount(0);
  await page.goto(`/#/u/${vera.handle}/likes`);
  await expect(page.getByTestId("private-likes")).toBeVisible();
  await expect(page.getByTestId("failure")).toHaveCount(0);
});

test("pictures are a list of a profile, for everybody to see", async ({ page, baseURL }) => {
  const picture = { kind: "PICTURE", url: new URL("/favicon.svg", baseURL).href, width: 800, height: 600, alt: "low tide" };
  for (const text of numbered("The bay, day", 21)) {
    await publish(vera, text, [picture]);
    await setTimeout(2);
  }
  await publish(vera, "No picture today");
  await openAs(page, finn, `/#/u/${vera.handle}`);
  await expect(page.getByTestId("post-text").first()).toHaveText("No picture today");
  await page.getByTestId("list-media").click();
  await expect(page).toHaveTitle(`Media of Vera Shore (@${vera.handle}) · Tidefeed`);
  await expect(page.getByTestId("post-text").first()).toHaveText("The bay, day 21");
  await takePictures(page, "profile-media");
  await scrollTo(page, page.getByTestId("feed-end"));
  await expect(page.getByTestId("post-text")).toHaveText(numbered("The bay, day", 21).toReversed());
  await page.goto(`/#/u/${finn.handle}/media`);
  await expect(page.getByTestId("empty-profile")).toContainText("No pictures or videos yet");
});

test("the lists of one's own profile", async ({ page }) => {
  await openAs(page, nell, `/#/u/${nell.handle}/likes`);
  await expect(page.getByTestId("empty-profile")).toContainText("No likes yet");
  await takePictures(page, "profile-no-likes");
  await like(nell, await publish(vera, "Low tide at six, and the whole bay smelled of salt."));
  await page.reload();
  await expect(page.getByTestId("post")).toHaveCount(1);
  await takePictures(page, "profile-likes");
});
