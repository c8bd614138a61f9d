// What the page says when something does not work.
import { expect } from "@playwright/test";
import { endSessions, isTaken, publish, register } from "./api";
import { AFTER_ALL_TRIES, openAs, postWith, waitUntilLive, write } from "./page";
import { test } from "./test";

const FORGED = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJub2JvZHkifQ.AAAA";
const LONG_AGO = "2020-01-01T00:00:00.000Z";

test("a taken handle is refused at its field", async ({ page }) => {
  const taken = await register("taken", "Tia Taken");
  await page.goto("/");
  await page.getByTestId("switch-form").click();
  await page.getByLabel("Handle").fill(taken.handle);
  await page.getByLabel("Name", { exact: true }).fill("Someone Else");
  await page.getByLabel("Password").fill("another-password");
  await page.getByTestId("sign-up").click();
  await expect(page.getByTestId("error-handle")).toBeVisible();
  await expect(page.getByLabel("Handle")).toHaveAttribute("aria-invalid", "true");
});

test("a wrong password is told, and signs no one in", async ({ page }) => {
  const person = await register("pat", "Pat Person");
  await page.goto("/");
  await page.getByLabel("Handle").fill(person.handle);
  await page.getByLabel("Password").fill("not-the-password");
  await page.getByTestId("sign-in").click();
  await expect(page.getByTestId("form-error").or(page.getByTestId("error-password")).or(page.getByTestId("error-handle"))).toBeVisible();
  await expect(page.getByTestId("composer")).toHaveCount(0);
});

test("a token that the server does not take, and no other, leads to signing in again", async ({ page }) => {
  const person = await register("pat", "Pat Person");
  await openAs(page, { ...person, token: FORGED, refreshToken: FORGED });
  await expect(page.getByTestId("notice-expired")).toBeVisible();
});

test("a session past its time has expired", async ({ page }) => {
  const person = await register("pat", "Pat Person");
  await openAs(page, { ...person, expiresAt: LONG_AGO, refreshToken: FORGED });
  await expect(page.getByTestId("notice-expired")).toBeVisible();
});

for (const [what, spoilt] of [["has ended", { expiresAt: LONG_AGO }], ["the server does not take", { token: FORGED }]] as const) {
  test(`a token that ${what} is exchanged for a new one, and nobody notices`, async ({ page }) => {
    const person = await register("rita", "Rita Renewed");
    await publish(person, "Still here");
    await openAs(page, { ...person, ...spoilt });
    await expect(postWith(page, "Still here")).toBeVisible();
    await waitUntilLive(page);
    const stored = JSON.parse(await page.evaluate(() => localStorage.getItem("tidefeed.session") ?? "{}")) as { token: string; refreshToken: string };
    expect(stored.refreshToken).not.toBe(person.refreshToken);
    expect(stored.token).not.toBe(FORGED);
    await write(page, "And writing");
    await expect(postWith(page, "And writing")).toBeVisible();
  });
}

test("a session that was ended on another device ends here, too", async ({ page }) => {
  const person = await register("ella", "Ella Elsewhere");
  await openAs(page, person);
  await waitUntilLive(page);
  await endSessions(person);
  await expect(page.getByTestId("notice-expired")).toBeVisible();
});

test("signing out ends the session on the server", async ({ page }) => {
  const person = await register("otto", "Otto Out");
  await openAs(page, person);
  await expect(page.getByTestId("composer")).toBeVisible();
  await page.getByTestId("sign-out").click();
  await expect(page.getByTestId("composer")).toHaveCount(0);
  await expect.poll(() => isTaken(person)).toBe(false);
});

test("a refusal that comes after signing out does not say that the session has expired", async ({ page }) => {
  const person = await register("otto", "Otto Out");
  let refuse = () => {};
  const signedOut = new Promise<void>((resolve) => { refuse = resolve; });
  await page.route("**/graphql", async (route) => {
    if (route.request().postData()?.includes("publishContent") !== true) return route.fallback();
    await signedOut;
    const errors = [{ message: "The session has ended. Sign in again.", extensions: { code: "UNAUTHENTICATED" } }];
    return route.fulfill({ status: 401, json: { errors } });
  });
  await openAs(page, person);
  await page.getByTestId("compose-text").fill("Too late");
  await page.getByTestId("publish").click();
  await page.getByTestId("sign-out").click();
  await expect(page.getByTestId("notice-signed-out")).toBeVisible();
  const refused = page.waitForResponse((response) => response.status() === 401);
  refuse();
  await (await refused).finished();
  await page.evaluate(() => navigator.locks.request("tidefeed.refresh", () => {}));
  await expect(page.getByTestId("notice-signed-out")).toBeVisible();
});

test("a timeline that does not load can be tried again", async ({ page }) => {
  const person = await register("pat", "Pat Person");
  await publish(person, "Worth the wait");
  await page.route("**/graphql", (route) => route.abort());
  await openAs(page, person);
  const column = page.getByRole("main");
  await expect(column.getByTestId("failure")).toContainText("did not load");
  const asks = page.waitForRequest("**/graphql");
  await column.getByTestId("retry").click();
  await asks;
  await page.unroute("**/graphql");
  // By itself, too, for who does not ask again.
  await expect(postWith(page, "Worth the wait")).toBeVisible();
  await expect(column.getByTestId("failure")).toHaveCount(0);
});

test("a draft whose answer was lost is kept, and sending it again publishes nothing twice", async ({ page }) => {
  const person = await register("pat", "Pat Person");
  await openAs(page, person);
  await expect(page.getByTestId("empty-timeline")).toBeVisible();
  await page.route("**/graphql", async (route) => {
    await route.fetch();
    await route.abort();
  });
  await write(page, "Do not lose me");
  await expect(page.getByTestId("form-error")).toContainText("cannot be reached", AFTER_ALL_TRIES);
  await expect(page.getByTestId("compose-text")).toHaveValue("Do not lose me");
  await page.unrouteAll({ behavior: "wait" });
  await page.getByTestId("publish").click();
  await expect(page.getByTestId("compose-text")).toHaveValue("");
  await page.reload();
  await expect(page.getByTestId("post-text")).toHaveText(["Do not lose me"]);
});

test("what is written while a post is being sent stays", async ({ page }) => {
  const person = await register("quick", "Quick Writer");
  await openAs(page, person);
  await expect(page.getByTestId("empty-timeline")).toBeVisible();
  let answer = () => {};
  const held = new Promise<void>((resolve) => { answer = resolve; });
  await page.route("**/graphql", async (route) => {
    const response = await route.fetch();
    await held;
    await route.fulfill({ response });
  });
  await write(page, "The first");
  await page.getByTestId("compose-text").fill("The second");
  answer();
  await expect(page.getByTestId("post-text")).toHaveText(["The first"]);
  await expect(page.getByTestId("compose-text")).toHaveValue("The second");
  await page.getByTestId("publish").click();
  await expect(page.getByTestId("post-text")).toHaveText(["The second", "The first"]);
});

test("looking for someone who is not there says so", async ({ page }) => {
  const person = await register("pat", "Pat Person");
  await openAs(page, person);
  await page.getByTestId("search-input").fill("nobody_at_all");
  await expect(page.getByTestId("not-found")).toContainText("nobody_at_all");
  await page.goto("/#/u/nobody_at_all");
  await expect(page.getByTestId("no-such-user")).toBeVisible();
});

test("a server that fails is told in words, with a way on", async ({ page }) => {
  const person = await register("pat", "Pat Person");
  await publish(person, "Like me");
  await openAs(page, person);
  await expect(postWith(page, "Like me")).toBeVisible();
  await page.route("**/graphql", (route) => route.fulfill({ status: 500, body: "" }));
  await page.getByTestId("nav-bookmarks").click();
  const column = page.getByRole("main");
  await expect(column.getByTestId("failure")).toContainText("Something went wrong on the server. Wait a moment and try again.", AFTER_ALL_TRIES);
  await page.unroute("**/graphql");
  await column.getByTestId("retry").click();
  await expect(page.getByTestId("no-bookmarks")).toContainText("No bookmarks yet");
});
