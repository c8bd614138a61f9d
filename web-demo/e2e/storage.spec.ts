// Browsers that refuse storage: with site data blocked, or full. Who signs in is signed in for as long as the page is open.
import { expect, type Page } from "@playwright/test";
import { freshHandle, register } from "./api";
import { signUp } from "./page";
import { test } from "./test";

const REFUSALS = {
  "blocks all site data": () => {
    Object.defineProperty(window, "localStorage", { get: () => { throw new DOMException("Access is denied for this document.", "SecurityError"); } });
  },
  "has no room": () => {
    Storage.prototype.setItem = () => { throw new DOMException("The quota has been exceeded.", "QuotaExceededError"); };
  },
};

async function signIn(page: Page, handle: string, password: string) {
  await page.goto("/");
  await page.getByLabel("Handle").fill(handle);
  await page.getByLabel("Password").fill(password);
  await page.getByTestId("sign-in").click();
  await expect(page.getByTestId("composer")).toBeVisible();
}

for (const [what, refusal] of Object.entries(REFUSALS)) {
  test.describe(`in a browser that ${what}`, () => {
    test.beforeEach(({ page }) => page.addInitScript(refusal));

    test("people sign up, publish, and are asked again after a reload", async ({ page }) => {
      const faults: string[] = [];
      page.on("pageerror", (error) => faults.push(error.message));
      await signUp(page, freshHandle("vera"), "Vera Shore");
      await page.getByTestId("compose-text").fill("Nothing is stored here");
      await page.getByTestId("publish").click();
      await expect(page.getByTestId("post-text").first()).toHaveText("Nothing is stored here");
      await expect(page.getByTestId("live")).toHaveText("Live");
      await page.reload();
      await expect(page.getByTestId("sign-in")).toBeVisible();
      expect(faults).toEqual([]);
    });

    test("people sign in and out", async ({ page }) => {
      const person = await register("finn", "Finn Harbour");
      await signIn(page, person.handle, person.password);
      await page.getByTestId("sign-out").click();
      await expect(page.getByTestId("notice-signed-out")).toBeVisible();
    });

    test("GraphiQL answers", async ({ page }) => {
      const person = await register("gil", "Gil Query");
      const query = `{ user(handle: "${person.handle}") { name } }`;
      await page.goto(`/graphiql?${new URLSearchParams({ query }).toString()}`);
      await expect(async () => {
        await page.getByRole("button", { name: /Execute query/ }).click();
        await expect(page.locator(".result-window")).toContainText("Gil Query", { timeout: 2_000 });
      }).toPass();
    });
  });
}
