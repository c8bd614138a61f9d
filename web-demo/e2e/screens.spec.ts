// Pictures of every page in test-results/screens/, to be looked at and read by axe: light and dark, at four widths.
import { expect, type Page } from "@playwright/test";
import { follow, numbered, type Person, publish, publishMany, register } from "./api";
import { choose, openAs, postWith, takePictures, waitUntilLive } from "./page";
import { test } from "./test";

const BREADTHS = { wide: [768, 1280], narrow: [320, 375] } as const;

const OWN = "Low tide at six, and the whole bay smelled of salt.\nWe counted the ribs of the wreck: all still there.";

let viewer: Person;
let friend: Person;
let newcomer: Person;

test.beforeAll(async ({ baseURL }) => {
  viewer = await register("vera", "Vera Shore");
  friend = await register("finn", "Finn Harbour");
  newcomer = await register("nell", "Nell Newcomer");
  const picture = { kind: "PICTURE", url: new URL("/favicon.svg", baseURL).href, width: 600, height: 320, alt: "Three waves" };
  await follow(viewer, friend);
  await publishMany(friend, numbered("A walk along the flats, day", 22));
  await publish(friend, "The harbour has a new sign.", [picture]);
  await publish(viewer, OWN);
  await publish(friend, "The ferry was late again, but the light was worth it.");
});

for (const [breadth, widths] of Object.entries(BREADTHS)) {
  test.describe(breadth, () => {
    test.use({ viewport: { width: breadth === "wide" ? 1280 : 375, height: 900 } });

    const take = (page: Page, name: string) => takePictures(page, name, widths);

    test("before signing in", async ({ page }) => {
      await page.goto("/");
      await expect(page.getByTestId("sign-in-demo")).toBeVisible();
      await take(page, "sign-in");
      await page.getByTestId("switch-form").click();
      await page.getByLabel("Handle").fill(viewer.handle);
      await page.getByLabel("Name", { exact: true }).fill("Vera Again");
      await page.getByLabel("Password").fill("a-good-password");
      await page.getByTestId("sign-up").click();
      await expect(page.getByTestId("error-handle")).toBeVisible();
      await take(page, "sign-up-refused");
    });

    test("the timeline", async ({ page, baseURL }) => {
      await openAs(page, viewer);
      await waitUntilLive(page);
      await expect(postWith(page, "The harbour has a new sign.")).toBeVisible();
      await take(page, "timeline");
      await publish(friend, `Seen at ${breadth}`);
      await expect(page.getByTestId("new-posts")).toBeVisible();
      if (breadth === "narrow") await page.getByTestId("compose-open").click();
      await page.getByTestId("compose-text").fill("A post with a picture, not sent yet");
      await page.getByTestId("compose-picture").click();
      await page.getByTestId("picture-url").fill(new URL("/favicon.svg", baseURL).href);
      await page.getByTestId("picture-alt").fill("Three waves");
      await take(page, "timeline-compose-pill");
      if (breadth === "narrow") {
        await page.goBack();
        await page.getByTestId("draft-keep").click();
      }
      await page.getByTestId("search-input").fill(friend.handle);
      await expect(page.getByTestId("search-results").getByTestId("person")).toBeVisible();
      await take(page, "find");
      await page.keyboard.press("Escape");
      await page.getByTestId("nav-timeline").click();
      await page.mouse.wheel(0, 900);
      await choose(postWith(page, OWN), "delete");
      const answers = page.getByRole("group", { name: "Delete this post?" }).getByRole("button");
      const lines = await answers.evaluateAll((buttons) => buttons.map((button) => button.getBoundingClientRect().top));
      expect(lines, "\"Delete\" and \"Keep\" stand side by side").toEqual([lines[0], lines[0]]);
      await take(page, "timeline-scrolled");
    });

    test("profiles", async ({ page }) => {
      await openAs(page, viewer, `/#/u/${friend.handle}`);
      await expect(page.getByTestId("post").first()).toBeVisible();
      await take(page, "profile-followed");
      await page.getByTestId("nav-profile").click();
      await expect(page.getByTestId("profile")).toContainText("This is you");
      await take(page, "profile-own");
      await page.goto("/#/u/no_such_user");
      await expect(page.getByTestId("no-such-user")).toBeVisible();
      await take(page, "profile-unknown");
    });

    test("nothing yet, waiting, and failing", async ({ page }) => {
      await openAs(page, newcomer);
      await expect(page.getByTestId("empty-timeline")).toBeVisible();
      await take(page, "timeline-empty");
      let failing = false;
      // Without an answer from this handler, the request waits.
      await page.route("**/graphql", (route) => failing ? route.abort() : undefined);
      await page.reload();
      await expect(page.getByTestId("skeletons")).toBeVisible();
      await take(page, "timeline-loading");
      failing = true;
      await page.reload();
      await expect(page.getByRole("main").getByTestId("failure")).toBeVisible();
      await take(page, "timeline-failed");
    });

    test("GraphiQL", async ({ page }) => {
      await openAs(page, viewer, "/graphiql/");
      await expect(async () => {
        await page.getByRole("button", { name: /Execute query/ }).click();
        await expect(page.locator(".result-window")).toContainText("viewer", { timeout: 2_000 });
      }).toPass();
      // Its own page is others' work: no axe.
      await page.screenshot({ path: `test-results/screens/graphiql-${breadth}.png`, animations: "disabled" });
    });
  });
}
