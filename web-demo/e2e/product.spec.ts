// What makes the page a product: a post's words and actions, drafts, threads, the keyboard, a phone. Pictures in test-results/screens/.
import { expect, type Page } from "@playwright/test";
import { follow, like, numbered, type Person, publish, publishMany, register, reply, repost } from "./api";
import { AFTER_ALL_TRIES, openAs, postWith, takePictures, waitUntilLive, WIDTHS, write } from "./page";
import { test } from "./test";

let vera: Person;
let finn: Person;

test.beforeEach(async () => {
  [vera, finn] = [await register("vera", "Vera Shore"), await register("finn", "Finn Harbour")];
  await follow(vera, finn);
});

/** Mutations wait for `go`, or fail once `isBroken`. */
async function holdMutations(page: Page) {
  const gate = { go: () => {}, isBroken: false };
  const held = new Promise<void>((resolve) => { gate.go = resolve; });
  await page.route("**/graphql", async (route) => {
    if (route.request().postData()?.includes("\"mutation") !== true) return route.fallback();
    await held;
    return gate.isBroken ? route.abort() : route.fallback();
  });
  return gate;
}

test("links, names and tags of a post lead where they say, and a click anywhere else opens its thread", async ({ page }) => {
  await publish(finn, `Ask @${vera.handle} about #lowtide (see https://example.org/tides_(north)), not a@b.example.`);
  await openAs(page, vera);
  const text = page.getByTestId("post-text");
  await expect(text.getByRole("link", { name: "example.org" })).toHaveAttribute("href", "https://example.org/tides_(north)");
  await expect(text.getByRole("link", { name: "example.org" })).toHaveAttribute("rel", /noopener/);
  await expect(text.getByRole("link")).toHaveCount(3);
  await text.getByRole("link", { name: "#lowtide" }).click();
  await expect(page.getByTestId("searched")).toContainText("lowtide");
  await page.goBack();
  await text.getByRole("link", { name: `@${vera.handle}` }).click();
  await expect(page.getByTestId("profile")).toContainText("This is you");
  await page.goBack();
  await text.click({ position: { x: 3, y: 8 } });
  await expect(page.getByTestId("thread-post")).toContainText("Ask @");
  await page.getByTestId("back").click();
  await expect(page.getByTestId("composer")).toBeVisible();
});

test("a post of more than twelve lines is cut, and shown in full when asked for", async ({ page }) => {
  await publish(finn, numbered("Line", 30).join("\n"));
  await publish(finn, numbered("Short", 12).join("\n"));
  await openAs(page, vera);
  await expect(page.getByTestId("show-more")).toHaveCount(1);
  const height = async () => (await page.getByTestId("post-text").last().boundingBox())?.height ?? 0;
  const cut = await height();
  await page.getByTestId("show-more").click();
  expect(await height()).toBeGreaterThan(2 * cut);
  await expect(page.getByTestId("thread-post")).toHaveCount(0);
});

test("a repost says who and when, above what its author wrote and when", async ({ page }) => {
  const nell = await register("nell", "Nell Newcomer");
  const original = await publish(nell, "Seen from far away");
  await repost(finn, original);
  await openAs(page, vera);
  const line = page.getByTestId("repost-line");
  await expect(line).toContainText("Finn Harbour reposted");
  await expect(line.locator("time")).toHaveText("now");
  await expect(line.locator("time")).toHaveAttribute("title", /\d{4}/);
  await expect(page.getByTestId("post-author")).toContainText("Nell Newcomer");
});

test("a like, a repost and a post are shown before they are answered, and taken back when they fail", async ({ page }) => {
  await publish(finn, "Worth it");
  await openAs(page, vera);
  await waitUntilLive(page);
  const gate = await holdMutations(page);
  const heart = postWith(page, "Worth it").getByTestId("heart");
  await heart.click();
  await expect(heart).toHaveAttribute("aria-pressed", "true");
  await expect(heart).toHaveText("1");
  await write(page, "Not arrived yet");
  await expect(postWith(page, "Not arrived yet")).toContainText("Sending…");
  await expect(page.getByTestId("compose-text")).toHaveValue("");
  gate.isBroken = true;
  gate.go();
  await expect(heart).toHaveAttribute("aria-pressed", "false", { timeout: 30_000 });
  await expect(heart).toHaveText("");
  await expect(postWith(page, "Worth it").getByRole("alert")).toContainText("cannot be reached", AFTER_ALL_TRIES);
  await expect(page.getByTestId("compose-text")).toHaveValue("Not arrived yet");
  await expect(page.getByTestId("post")).toHaveCount(1);
});

test("drafts of posts and replies outlive leaving and reloading, and go with the one who signs out", async ({ page }) => {
  const id = await publish(finn, "Who has seen the wreck?");
  await openAs(page, vera);
  await page.getByTestId("compose-text").fill("Half a thought");
  await page.getByTestId("nav-bookmarks").click();
  await page.getByTestId("nav-timeline").click();
  await expect(page.getByTestId("compose-text")).toHaveValue("Half a thought");
  await page.goto(`/#/p/${id}`);
  await page.getByTestId("reply-text").fill("Half a reply");
  await page.reload();
  await expect(page.getByTestId("reply-text")).toHaveValue("Half a reply");
  await page.getByTestId("nav-timeline").click();
  await expect(page.getByTestId("compose-text")).toHaveValue("Half a thought");
  await page.getByTestId("sign-out").click();
  await expect(page.getByTestId("notice-signed-out")).toBeVisible();
  expect(await page.evaluate(() => Object.keys(localStorage).filter((key) => key.startsWith("tidefeed.draft")))).toEqual([]);
});

test("the keyboard goes from post to post, likes, keeps, replies, opens, writes and searches", async ({ page }) => {
  await publishMany(finn, ["First", "Second"]);
  await openAs(page, vera);
  await expect(postWith(page, "First")).toBeVisible();
  await page.keyboard.press("j");
  await expect(postWith(page, "Second")).toBeFocused();
  await expect(postWith(page, "Second")).toHaveAccessibleName(/^Finn Harbour @finn_\w+ ·? ?just now Second$/);
  await page.keyboard.press("j");
  await expect(postWith(page, "First")).toBeFocused();
  await page.keyboard.press("k");
  await page.keyboard.press("l");
  await expect(postWith(page, "Second").getByTestId("heart")).toHaveAttribute("aria-pressed", "true");
  await page.keyboard.press("b");
  await expect(postWith(page, "Second").getByTestId("bookmark")).toHaveAttribute("aria-pressed", "true");
  await page.keyboard.press("Enter");
  await expect(page.getByTestId("thread-post")).toContainText("Second");
  await page.goBack();
  await page.keyboard.press("j");
  await page.keyboard.press("r");
  await expect(page.getByTestId("reply-text")).toBeFocused();
  await page.keyboard.type("jkl");
  await expect(page.getByTestId("reply-text")).toHaveValue("jkl");
  await page.keyboard.press("Escape");
  await expect(page.getByTestId("thread-post")).toBeFocused();
  await page.getByTestId("nav-timeline").click();
  await page.keyboard.press("j");
  const post = page.getByTestId("post").first();
  await expect(post).toBeFocused();
  for (const [key, field] of [["n", "compose-text"], ["/", "search-input"]] as const) {
    await page.keyboard.press(key);
    await expect(page.getByTestId(field)).toBeFocused();
    await page.keyboard.press("Escape");
    await expect(post).toBeFocused();
  }
  await page.keyboard.press("?");
  await expect(page.getByTestId("keyboard-help")).toBeVisible();
  await takePictures(page, "keyboard-help");
  await page.keyboard.press("Escape");
  await expect(page.getByTestId("keyboard-help")).toHaveCount(0);
});

for (const width of WIDTHS) {
  test.describe(`${width} wide`, () => {
    test.use({ viewport: { width, height: width < 800 ? 720 : 900 } });

    test("the timeline and a thread fit, and the first post is in the upper half", async ({ page, baseURL }) => {
      const url = new URL("/favicon.svg", baseURL).href;
      const picture = (alt: string) => ({ kind: "PICTURE", url, width: 600, height: 400, alt });
      const asked = await publish(finn, "Who has seen the wreck at low tide? https://example.org/a-very-long-address/that-goes-on-and-on/without-an-end #wreck");
      await reply(finn, asked, "We counted the ribs: all still there.");
      await like(finn, asked);
      await publish(finn, "Three of the harbour.", ["Waves", "More waves", "Yet more waves"].map(picture));
      await openAs(page, vera);
      await waitUntilLive(page);
      await expect(page.getByTestId("post")).toHaveCount(3);
      if (width < 800) expect((await page.getByTestId("post").first().boundingBox())?.y ?? 720).toBeLessThan(360);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
      await takePictures(page, "product-timeline", [width]);
      await page.goto(`/#/p/${asked}`);
      await expect(page.getByTestId("like-count")).toHaveText("1 like");
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
      await takePictures(page, "product-thread", [width]);
      await page.goto("/#/p/C_AAAAAAAAAAE");
      await expect(page.getByTestId("no-such-post")).toBeVisible();
      await expect(page.getByTestId("compose-open")).toHaveCount(0);
      await takePictures(page, "product-unknown", [width]);
      await page.goto("/#/explore");
      await expect(page.getByTestId("person").first()).toBeVisible();
      await takePictures(page, "product-explore", [width]);
      await page.getByTestId("compose-open").click();
      await page.getByTestId("compose-text").fill("Half a thought");
      await page.goBack();
      await expect(page.getByTestId("draft-question")).toBeVisible();
      await takePictures(page, "product-sheet", [width]);
      await page.getByTestId("draft-delete").click();
      await expect(page.getByTestId("sheet")).toHaveCount(0);
    });
  });
}

test("a picture that the server draws shows also to who has come to the page by another name", async ({ page, baseURL }) => {
  const url = new URL("/pictures/5.svg", baseURL).href;
  await publish(vera, "The boat is in", [{ kind: "PICTURE", url, width: 800, height: 600, alt: "A boat" }]);
  const elsewhere = new URL(`/#/u/${vera.handle}`, baseURL);
  elsewhere.hostname = elsewhere.hostname === "localhost" ? "127.0.0.1" : "localhost";
  await openAs(page, vera, elsewhere.href);
  await expect(postWith(page, "The boat is in")).toBeVisible();
  await expect.poll(() => page.getByTestId("post-picture").evaluateAll((all) => all.map((image) => (image as HTMLImageElement).naturalWidth))).toEqual([800]);
});
