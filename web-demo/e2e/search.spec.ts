// Posts are found from the header, Chinese ones by any stretch of their text. Pictures in test-results/screens/.
import { expect, type Page } from "@playwright/test";
import { deleteContent, follow, freshHandle, numbered, publish, publishMany, register } from "./api";
import { AFTER_ALL_TRIES, namesOf, openAs, postWith, scrollTo, takePictures, untilAnswered } from "./page";
import { test } from "./test";

async function search(page: Page, text: string) {
  await page.getByTestId("search-input").fill(text);
  await page.getByTestId("search-input").press("Enter");
  await expect(page.getByTestId("searched")).toContainText(text);
}

test("a search reads on to its end, and a deleted post is found no more", async ({ page }) => {
  const [vera, word] = [await register("vera", "Vera Shore"), freshHandle("wreck")];
  await publishMany(vera, numbered(`The ${word}, rib`, 45));
  await openAs(page, vera);
  await search(page, word);
  await expect(postWith(page, `The ${word}, rib 45`)).toBeVisible();
  await takePictures(page, "search");
  await scrollTo(page, page.getByTestId("feed-end"));
  await expect(page.getByTestId("post")).toHaveCount(45);
  const last = await publish(vera, `The last ${word}`);
  await page.reload();
  await expect(postWith(page, `The last ${word}`)).toBeVisible();
  await deleteContent(vera, last);
  await page.reload();
  await expect(postWith(page, `The ${word}, rib 45`)).toBeVisible();
  await expect(postWith(page, `The last ${word}`)).toHaveCount(0);
});

test("people are found by the beginning of any word of a name, above the posts, and followed there", async ({ page }) => {
  const [vera, word] = [await register("vera", "Vera Shore"), freshHandle("Quay")];
  for (const name of ["Ada", "Bea", "Cleo", "Dora"]) await register(name.toLowerCase(), `${name} ${word}`);
  await publish(vera, `A post about ${word}`);
  await openAs(page, vera);
  await search(page, word.slice(0, -1));
  await expect(namesOf(page)).toHaveCount(3);
  await page.getByTestId("more-people").click();
  await expect(namesOf(page)).toHaveText(["Ada", "Bea", "Cleo", "Dora"].map((name) => `${name} ${word}`));
  await expect(page.getByTestId("more-people")).toHaveCount(0);
  await search(page, `bea ${word}`);
  await expect(namesOf(page)).toHaveText([`Bea ${word}`]);
  await page.getByTestId("found-people").getByTestId("follow").click();
  await expect(page.getByTestId("found-people").getByTestId("follow")).toContainText("Following");
  await search(page, word);
  await expect(postWith(page, `A post about ${word}`)).toBeVisible();
});

test("a new person is shown whom to follow, and not whom they follow already", async ({ page }) => {
  const [nell, star] = [await register("nell", "Nell Newcomer"), await register("star", "Star Harbour")];
  const friend = await register("friend", "Friendly Face");
  await follow(friend, star);
  await openAs(page, nell);
  await expect(page.getByTestId("some-people").getByTestId("person").first()).toBeVisible();
  const button = page.getByTestId("some-people").getByTestId("follow").first();
  await untilAnswered(page, "followUser", () => button.click());
  await expect(button, "as long as the pointer stays").toHaveText("Following");
  await page.mouse.move(0, 0);
  await button.hover();
  await expect(button.getByText("Unfollow")).toBeVisible();
  await untilAnswered(page, "unfollowUser", () => button.click());
  await follow(nell, friend);
  for (const name of numbered("Acquaintance", 3)) await follow(nell, await register("acquaintance", name));
  await page.reload();
  await expect(page.getByTestId("some-people"), "of who follows four").toBeVisible();
  await follow(nell, await register("fifth", "Fifth Friend"));
  await page.reload();
  await expect(page.getByTestId("empty-timeline")).toBeVisible();
  await expect(page.getByTestId("some-people"), "of who follows five").toHaveCount(0);
  await page.goto("/#/explore");
  await page.reload();
  const suggested = page.getByTestId("some-people");
  await expect(suggested.getByText(`@${star.handle}`)).toBeVisible();
  await expect(suggested.getByText(`@${friend.handle}`)).toHaveCount(0);
});

test("what cannot be looked for is told, and so is a search that failed", async ({ page }) => {
  await openAs(page, await register("vera", "Vera Shore"));
  await search(page, "?!");
  await expect(page.getByRole("main").getByTestId("failure")).toContainText("at least one letter");
  await page.route("**/graphql", (route) => route.abort());
  await search(page, "tide");
  await expect(page.getByRole("main").getByTestId("failure")).toContainText("cannot be reached", AFTER_ALL_TRIES);
  await page.unroute("**/graphql");
  await page.getByRole("main").getByTestId("retry").click();
  await expect(page.getByRole("main").getByTestId("failure")).toHaveCount(0);
});

for (const scheme of ["light", "dark"] as const) {
  for (const [breadth, viewport] of Object.entries({ wide: { width: 1360, height: 900 }, narrow: { width: 390, height: 844 } })) {
    test.describe(`${scheme}, ${breadth}`, () => {
      test.use({ colorScheme: scheme, viewport });

      const take = async (page: Page, name: string) => {
        const cutOff = await page.locator(".feed, .bar, body").evaluateAll((boxes) => boxes.filter((box) => box.scrollWidth > box.clientWidth).length);
        expect(cutOff, "boxes whose content is cut off at the side").toBe(0);
        await page.screenshot({ path: `test-results/screens/${name}-${scheme}-${breadth}.png`, animations: "disabled" });
      };

      test("Chinese posts are found by two characters, and by one", async ({ page }) => {
        const [vera, finn] = [await register("vera", "Vera Shore"), await register("finn", "Finn Harbour")];
        const mark = freshHandle("m");
        await publish(finn, `今天去海边看潮汐 ${mark}`);
        await publish(vera, `潮水退了 ${mark}`);
        await openAs(page, vera);
        await search(page, `潮汐 ${mark}`);
        await expect(page.getByTestId("post-text")).toHaveText([`今天去海边看潮汐 ${mark}`]);
        await search(page, `潮 ${mark}`);
        await expect(page.getByTestId("post-text")).toHaveText([`潮水退了 ${mark}`, `今天去海边看潮汐 ${mark}`]);
        await take(page, "search");
        await page.goBack();
        await expect(page.getByTestId("search-input")).toHaveValue(`潮汐 ${mark}`);
        await expect(page.getByTestId("post")).toHaveCount(1);
        await search(page, `missing ${mark}`);
        await expect(page.getByTestId("nothing-found")).toBeVisible();
        await take(page, "search-nothing");
      });
    });
  }
}
