// Reposts fold in the timeline; replies stand in a thread. Pictures in test-results/screens/.
import { expect } from "@playwright/test";
import { deleteContent, follow, publish, publishMany, register, registerThree } from "./api";
import { AFTER_ALL_TRIES, choose, openAs, postWith, takePicture, takePicturesOpen, untilAnswered } from "./page";
import { test } from "./test";

test("a repost takes its original's place, and gives it back", async ({ page }) => {
  const vera = await register("vera", "Vera Shore");
  const finn = await register("finn", "Finn Harbour");
  await follow(vera, finn);
  const [original = ""] = await publishMany(finn, ["The ferry is late again", "And the light is worth it"]);
  await openAs(page, vera);
  await untilAnswered(page, "repostContent", () => postWith(page, "The ferry is late again").getByTestId("repost").click());
  await expect(page.getByTestId("post-text")).toHaveText(["The ferry is late again", "And the light is worth it"]);
  await expect(page.getByTestId("repost-line")).toHaveText(/^You reposted/);
  await expect(page.getByTestId("post").first().getByTestId("repost")).toHaveText("1");
  await page.reload();
  await expect(page.getByTestId("post-text")).toHaveText(["The ferry is late again", "And the light is worth it"]);
  await page.getByTestId("repost").first().click();
  await expect(page.getByTestId("post-text")).toHaveText(["And the light is worth it", "The ferry is late again"]);
  await expect(page.getByTestId("repost-line")).toHaveCount(0);
  await untilAnswered(page, "repostContent", () => postWith(page, "The ferry is late again").getByTestId("repost").click());
  await expect(page.getByTestId("repost-line")).toBeVisible();
  await deleteContent(finn, original);
  await page.reload();
  await expect(page.getByTestId("original-gone")).toBeVisible();
  await expect(page.getByTestId("post")).toHaveCount(2);
});

for (const scheme of ["light", "dark"] as const) {
  for (const [breadth, viewport] of Object.entries({ wide: { width: 1360, height: 900 }, narrow: { width: 390, height: 844 } })) {
    test.describe(`${scheme}, ${breadth}`, () => {
      test.use({ colorScheme: scheme, viewport });

      test("a thread grows below its post", async ({ page }) => {
        const vera = await register("vera", "Vera Shore");
        const finn = await register("finn", "Finn Harbour");
        await follow(vera, finn);
        await publish(finn, "Who has seen the wreck at low tide?");
        await openAs(page, vera);
        await postWith(page, "Who has seen the wreck at low tide?").getByTestId("reply").click();
        await expect(page.getByTestId("thread-post")).toContainText("Who has seen the wreck");
        for (const text of ["We counted the ribs", "All still there"]) {
          await page.getByTestId("reply-text").fill(text);
          await page.getByTestId("reply-send").click();
          await expect(postWith(page, text)).toBeVisible();
          await expect(page.getByTestId("reply-text")).toHaveValue("");
        }
        await expect(page.getByTestId("feed").getByTestId("post-text")).toHaveText(["We counted the ribs", "All still there"]);
        await expect(page.getByTestId("thread-post")).toContainText("2 replies");
        await page.screenshot({ path: `test-results/screens/thread-${scheme}-${breadth}.png`, animations: "disabled" });
        await postWith(page, "We counted the ribs").getByTestId("post-time").click();
        await expect(page.getByTestId("thread")).toContainText("Who has seen the wreck");
        await expect(page.getByTestId("thread-post")).toContainText("In reply to");
        await page.getByTestId("thread-post").getByTestId("repost").click();
        await page.getByTestId("nav-timeline").click();
        await expect(page.getByTestId("repost-line")).toHaveText(/^You reposted/);
        const cutOff = await page.locator(".feed, body").evaluateAll((boxes) => boxes.filter((box) => box.scrollWidth > box.clientWidth).length);
        expect(cutOff, "boxes whose content is cut off at the side").toBe(0);
        await page.screenshot({ path: `test-results/screens/reposts-${scheme}-${breadth}.png`, animations: "disabled" });
      });
    });
  }
}

test("actions stand in the same columns below one's own posts and others', and the menu has what else can be done", async ({ page, context, baseURL }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: baseURL ?? "" });
  const [vera, finn, nell] = await registerThree();
  for (const other of [finn, nell]) await follow(vera, other);
  const own = await publish(vera, "My own");
  await publish(finn, "Not mine");
  await publish(nell, "Nor that");
  // What the browsers of phones have.
  await page.addInitScript(() => {
    const share = ({ url = "" }: ShareData) => {
      document.body.dataset.shared = url;
      return Promise.resolve();
    };
    Object.defineProperty(navigator, "share", { value: share });
  });
  await openAs(page, vera);
  await expect(page.getByTestId("post")).toHaveCount(3);
  const columns = await page.locator(".actions").evaluateAll((rows) => rows.map((row) => [...row.querySelectorAll(".action")].map((one) => one.getBoundingClientRect().left)));
  expect(columns).toEqual([columns[0], columns[0], columns[0]]);
  expect(columns[0]).toHaveLength(5);

  const mine = postWith(page, "My own");
  await mine.getByTestId("more").click();
  const menu = mine.getByRole("menu");
  await expect(menu.getByRole("menuitem")).toHaveText(["Copy link", "Share…", "Delete"]);
  await expect(menu.getByRole("menuitem").first()).toBeFocused();
  await page.keyboard.press("ArrowUp");
  await expect(mine.getByTestId("delete")).toBeFocused();
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  await expect(page.getByTestId("notice")).toHaveText("The link is copied.");
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(new URL(`/post/${own}`, baseURL).href);
  await choose(mine, "share");
  await expect(page.locator("body")).toHaveAttribute("data-shared", new URL(`/post/${own}`, baseURL).href);
  await mine.getByTestId("more").click();
  await page.keyboard.press("Escape");
  await expect(mine.getByTestId("more")).toBeFocused();
  await takePicturesOpen(page, "menu-own", () => mine.getByTestId("more").click());
  await takePicturesOpen(page, "menu-other", () => postWith(page, "Not mine").getByTestId("more").click());
  await choose(mine, "delete");
  await expect(page.getByTestId("delete-confirm")).toBeFocused();
  await page.getByRole("button", { name: "Cancel" }).click();

  await choose(postWith(page, "Not mine"), "mute");
  await expect(postWith(page, "Not mine")).toHaveCount(0);
  await expect(page.getByTestId("notice")).toContainText(`You have muted @${finn.handle}.`);
  await takePicture(page, "menu-muted");
  await page.getByTestId("notice-action").click();
  await expect(postWith(page, "Not mine")).toBeVisible();
  await choose(postWith(page, "Nor that"), "hide");
  await expect(page.getByTestId("notice")).toContainText("no longer gets your posts");
  await choose(postWith(page, "Nor that"), "block");
  await page.getByTestId("block-confirm").click();
  await expect(postWith(page, "Nor that")).toHaveCount(0);
});

test("a post and its author open with what is known of them before anything has come, and offline", async ({ page, context }) => {
  const [vera, finn] = await registerThree();
  await follow(vera, finn);
  await publishMany(finn, ["Seen before", "Seen, too"]);
  await openAs(page, vera);
  await expect(page.getByTestId("post")).toHaveCount(2);
  // Without an answer from this handler, the request waits.
  await page.route("**/graphql", () => undefined);
  await postWith(page, "Seen before").getByTestId("post-time").click();
  await expect(page.getByTestId("thread-post")).toContainText("Seen before");
  await page.goBack();
  await page.unroute("**/graphql");
  await context.setOffline(true);
  await postWith(page, "Seen, too").getByTestId("post-author").click();
  await expect(page.getByTestId("profile").getByRole("heading", { name: finn.name })).toBeVisible();
  await context.setOffline(false);
  await expect(page.getByTestId("post-text")).toHaveText(["Seen, too", "Seen before"], AFTER_ALL_TRIES);
});
