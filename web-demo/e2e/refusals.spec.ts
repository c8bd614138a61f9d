// What the page says when something does not work.
import { expect, test } from "@playwright/test";
import { publish, register } from "./api";
import { openAs, postWith, write } from "./page";

test("a taken handle is refused at its field", async ({ page }) => {
  const taken = await register("taken", "Tia Taken");
  await page.goto("/");
  await page.getByTestId("switch-form").click();
  await page.getByLabel("Handle").fill(taken.handle);
  await page.getByLabel("Name").fill("Someone Else");
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

test("a token that the server does not take leads to signing in again", async ({ page }) => {
  const person = await register("pat", "Pat Person");
  await openAs(page, { ...person, token: "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJub2JvZHkifQ.AAAA" });
  await expect(page.getByTestId("notice-expired")).toBeVisible();
});

test("a session past its time is not even tried", async ({ page }) => {
  const person = await register("pat", "Pat Person");
  await openAs(page, { ...person, expiresAt: "2020-01-01T00:00:00.000Z" });
  await expect(page.getByTestId("notice-expired")).toBeVisible();
});

test("a timeline that does not load can be tried again", async ({ page }) => {
  const person = await register("pat", "Pat Person");
  await publish(person, "Worth the wait");
  await page.route("**/graphql", (route) => route.abort());
  await openAs(page, person);
  const column = page.getByRole("main");
  await expect(column.getByTestId("failure")).toContainText("did not load");
  await page.unroute("**/graphql");
  await column.getByTestId("retry").click();
  await expect(postWith(page, "Worth the wait")).toBeVisible();
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
  await expect(page.getByTestId("form-error")).toContainText("cannot be reached");
  await expect(page.getByTestId("compose-text")).toHaveValue("Do not lose me");
  await page.unroute("**/graphql");
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
  await page.getByTestId("find-input").fill("nobody_at_all");
  await page.getByTestId("find-submit").click();
  await expect(page.getByTestId("not-found")).toContainText("@nobody_at_all");
  await page.goto("/#/u/nobody_at_all");
  await expect(page.getByTestId("no-such-user")).toBeVisible();
});
