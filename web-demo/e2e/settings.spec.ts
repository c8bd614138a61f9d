// The settings: where one is signed in, another password, another handle. Pictures in test-results/screens/.
import { expect, type Page } from "@playwright/test";
import { follow, freshHandle, isTaken, type Person, publish, register, signIn, signOut } from "./api";
import { openAs, openSettings, takePictures, waitUntilLive } from "./page";
import { test } from "./test";

const LINUX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
const PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1";

let vera: Person;

test.beforeEach(async () => {
  vera = await register("vera", "Vera Shore");
});

async function changePassword(page: Page, until: string, from: string) {
  await page.getByLabel("Current password").fill(until);
  await page.getByLabel("New password").fill(from);
  await page.getByTestId("password-save").click();
}

test("sessions are listed, this one is marked, and another one is ended", async ({ page }) => {
  const laptop = await signIn(vera, LINUX);
  const phone = await signIn(vera, PHONE);
  await openSettings(page, phone);
  const sessions = page.getByTestId("session");
  await expect(sessions.locator("strong")).toHaveText(["Safari on iOS", "Firefox on Linux", "node"]);
  await expect(sessions.filter({ has: page.getByTestId("current-session") })).toHaveText(/Safari on iOS/);
  await page.getByRole("button", { name: "End the session of Firefox on Linux" }).click();
  await expect(sessions.locator("strong")).toHaveText(["Safari on iOS", "node"]);
  await expect.poll(() => isTaken(laptop)).toBe(false);
  expect(await isTaken(vera)).toBe(true);
  expect(await isTaken(phone)).toBe(true);
});

test("a session that has ended meanwhile just leaves the list, and one that is ended from elsewhere says so", async ({ page, browser, baseURL }) => {
  const laptop = await signIn(vera, LINUX);
  const phone = await signIn(vera, PHONE);
  await openSettings(page, vera);
  await expect(page.getByTestId("session")).toHaveCount(3);
  await signOut(phone);
  await page.getByRole("button", { name: "End the session of Safari on iOS" }).click();
  await expect(page.getByTestId("session")).toHaveCount(2);
  await expect(page.getByRole("main").getByRole("alert").filter({ hasText: /./ })).toHaveCount(0);

  const other = await (await browser.newContext({ baseURL })).newPage();
  await openAs(other, laptop);
  await waitUntilLive(other);
  await page.getByRole("button", { name: "End the session of Firefox on Linux" }).click();
  await expect(other.getByTestId("notice-expired")).toBeVisible();
  await other.context().close();
});

test("signing out everywhere asks first, and ends every session with this one", async ({ page }) => {
  const laptop = await signIn(vera, LINUX);
  await openSettings(page, vera);
  await page.getByTestId("everywhere").click();
  await page.getByRole("button", { name: "Cancel" }).click();
  await expect(page.getByTestId("current-session")).toBeVisible();
  await page.getByTestId("everywhere").click();
  await page.route("**/graphql", (route) => route.abort());
  await page.getByTestId("everywhere-confirm").click();
  await expect(page.getByRole("alert").filter({ hasText: "cannot be reached" })).toBeVisible();
  await page.unroute("**/graphql");
  expect(await isTaken(laptop)).toBe(true);
  await page.getByTestId("everywhere-confirm").click();
  await expect(page.getByTestId("notice-signed-out")).toBeVisible();
  await expect.poll(() => isTaken(laptop)).toBe(false);
  await expect.poll(() => isTaken(vera)).toBe(false);
});

test("the password is changed: each mistake stands at its field, and the other sessions end", async ({ page }) => {
  const laptop = await signIn(vera, LINUX);
  await openSettings(page, vera);
  await changePassword(page, vera.password, "short");
  await expect(page.getByTestId("error-newPassword")).toContainText("at least 8 characters");
  await changePassword(page, vera.password, "x".repeat(1025));
  await expect(page.getByTestId("error-newPassword")).toContainText("at most 1024 bytes");
  await changePassword(page, "not this one", "a-new-password");
  await expect(page.getByTestId("error-oldPassword")).toContainText("not the current password");
  await expect(page.getByLabel("Current password")).toHaveAttribute("aria-invalid", "true");
  await expect(page.getByTestId("error-newPassword")).toHaveCount(0);

  await changePassword(page, vera.password, "a-new-password");
  await expect(page.getByTestId("password-done")).toHaveText("Your password is changed. One other session has ended.");
  await expect(page.getByLabel("New password")).toHaveValue("");
  await expect(page.getByTestId("error-oldPassword")).toHaveCount(0);
  await expect(page.getByTestId("session")).toHaveCount(1);
  await expect.poll(() => isTaken(laptop)).toBe(false);
  await page.getByTestId("sign-out").click();
  await page.getByLabel("Handle").fill(vera.handle);
  await page.getByLabel("Password").fill("a-new-password");
  await page.getByTestId("sign-in").click();
  await expect(page.getByTestId("current-session")).toBeVisible();
});

test("after too many failures it says when to try again, as signing in does", async ({ page }) => {
  await openSettings(page, vera);
  const tooMany = page.getByTestId("form-error").filter({ hasText: /^Too many attempts have failed. Try again at \d+:\d\d:\d\d.[AP]M.$/ });
  // Waits grow from a second on: on a slow machine the first are over before the next attempt.
  await expect(async () => {
    await changePassword(page, "not this one", "a-new-password");
    await expect(tooMany).toBeVisible({ timeout: 500 });
  }).toPass({ intervals: [0] });
  await expect(page.getByTestId("error-oldPassword")).toHaveCount(0);
  await page.getByTestId("sign-out").click();
  await page.getByLabel("Handle").fill(vera.handle);
  await page.getByLabel("Password").fill("not this one");
  await expect(async () => {
    await page.getByTestId("sign-in").click();
    await expect(tooMany).toBeVisible({ timeout: 500 });
  }).toPass({ intervals: [0] });
});

test("another handle is taken: a mistake stands at its field, the page goes on with the new one", async ({ page }) => {
  const other = await register("taken", "Tia Taken");
  const wanted = freshHandle("veronica");
  await openSettings(page, vera);
  await expect(page.getByLabel("Your handle")).toHaveValue(vera.handle);
  for (const wrong of [other.handle, "no spaces"]) {
    await page.getByLabel("Your handle").fill(wrong);
    await page.getByTestId("handle-save").click();
    await expect(page.getByTestId("error-handle")).toContainText(wrong === other.handle ? "taken" : "a to z");
  }
  await page.getByLabel("Your handle").fill(`@${wanted.toUpperCase()}`);
  await page.getByTestId("handle-save").click();
  await expect(page.getByTestId("profile")).toContainText(`@${wanted}`);
  await expect(page.getByTestId("profile")).toContainText("This is you");
  await page.reload();
  await expect(page.getByTestId("viewer-card")).toContainText(`@${wanted}`);
  await page.getByTestId("nav-profile").click();
  await expect(page.getByTestId("profile")).toContainText("Vera Shore");
  await page.goto(`/#/u/${vera.handle}`);
  await expect(page.getByTestId("no-such-user")).toBeVisible();
});

test("sessions that do not load can be tried again", async ({ page }) => {
  await openAs(page, vera);
  await expect(page.getByTestId("empty-timeline")).toBeVisible();
  await page.route("**/graphql", (route) => route.abort());
  await page.getByTestId("nav-settings").click();
  const column = page.getByRole("main");
  await expect(column.getByTestId("failure")).toContainText("did not load");
  await page.unroute("**/graphql");
  await column.getByTestId("retry").click();
  await expect(page.getByTestId("current-session")).toBeVisible();
});

test("an account is deleted with its password, and whoever reads it loses sight of it at once", async ({ page, browser, baseURL }) => {
  const reader = await register("finn", "Finn Harbour");
  await follow(reader, vera);
  await publish(vera, "the last words");
  const other = await (await browser.newContext({ baseURL })).newPage();
  await openAs(other, reader);
  await waitUntilLive(other);
  await expect(other.getByText("the last words")).toBeVisible();

  await openSettings(page, vera);
  await page.getByTestId("delete-account").click();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByTestId("delete-account").click();
  const password = page.getByLabel(`Password of @${vera.handle}`);
  await expect(password).toBeFocused();
  await password.fill("not this one");
  await page.getByTestId("delete-confirm").click();
  await expect(page.getByTestId("error-password")).toContainText("not your password");
  await password.fill(vera.password);
  await page.getByTestId("delete-confirm").click();
  await expect(page.getByTestId("notice-deleted")).toBeVisible();
  expect(await isTaken(vera)).toBe(false);

  await expect(other.getByText("the last words")).toHaveCount(0);
  await other.goto(`/#/u/${vera.handle}`);
  await expect(other.getByTestId("no-such-user")).toBeVisible();
  await other.context().close();
});

test("the settings", async ({ page }) => {
  await signIn(vera, LINUX);
  await signIn(vera, "a_client_of_a_very_long_name_that_nobody_has_thought_of_shortening_before_it_was_sent/1.0");
  await openSettings(page, vera);
  await takePictures(page, "settings");
  await changePassword(page, "not this one", "a-new-password");
  await expect(page.getByTestId("error-oldPassword")).toBeVisible();
  await page.getByLabel("Your handle").fill("no spaces");
  await page.getByTestId("handle-save").click();
  await expect(page.getByTestId("error-handle")).toBeVisible();
  await takePictures(page, "settings-refused");
  await page.getByTestId("everywhere").click();
  await expect(page.getByTestId("everywhere-confirm")).toBeFocused();
  await takePictures(page, "settings-everywhere");
  await page.getByTestId("delete-account").click();
  await page.getByTestId("delete-confirm").scrollIntoViewIfNeeded();
  await takePictures(page, "settings-delete");
});
