// GraphiQL, served from the same place, acting as the user who is signed in on the page.
import { expect, type Page } from "@playwright/test";
import { publish, register } from "./api";
import { openAs } from "./page";
import { test } from "./test";

test("GraphiQL runs its first query as the signed-in user, and loads nothing from elsewhere", async ({ page, baseURL }) => {
  const person = await register("gil", "Gil Query");
  await publish(person, "Seen from GraphiQL");
  const elsewhere: string[] = [];
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol.startsWith("http") && url.origin !== new URL(baseURL ?? "").origin) elsewhere.push(request.url());
  });

  await openAs(page, person);
  await page.getByTestId("nav-graphiql").click();
  const answer = page.locator(".result-window");
  await expect(async () => {
    // A click before the editor has loaded does nothing.
    await page.getByRole("button", { name: /Execute query/ }).click();
    await expect(answer).toContainText("Seen from GraphiQL", { timeout: 2_000 });
  }).toPass();
  await expect(answer).toContainText(person.handle);
  expect(elsewhere).toEqual([]);
});

test("GraphiQL's second tab watches newFeed", async ({ page }) => {
  const person = await register("gil", "Gil Query");
  await openAs(page, person, "/graphiql/");
  await expect(page.locator(".graphiql-query-editor")).toContainText("MyTimeline");
  await page.getByRole("tab", { name: "MyNewFeed" }).click();
  const execute = page.getByRole("button", { name: /Execute query/ });
  await expect(async () => {
    // Once the subscription runs, the button stops it and has another name.
    if (await execute.isVisible()) await execute.click();
    await publish(person, "Seen live in GraphiQL");
    await expect(page.locator(".result-window")).toContainText("Seen live in GraphiQL", { timeout: 1_000 });
  }).toPass();
});

test("GraphiQL's workers run: they suggest what the schema has", async ({ page }) => {
  await openAs(page, await register("gil", "Gil Query"), "/graphiql/");
  const editor = page.locator(".graphiql-query-editor");
  await expect(editor).toContainText("MyTimeline");
  await expect(async () => {
    // What is typed before the editor listens and the schema has been read leads to nothing.
    await editor.locator(".view-lines").click();
    await page.keyboard.press("Control+A");
    await page.keyboard.type("{ viewer { muted");
    await expect(page.locator(".suggest-widget")).toContainText("mutedUsers", { timeout: 2_000 });
  }).toPass();
});

/** Runs what stands in the editor until the answer has this. */
async function answers(page: Page, text: string) {
  await expect(async () => {
    await page.getByRole("button", { name: /Execute query/ }).click();
    await expect(page.locator(".result-window")).toContainText(text, { timeout: 2_000 });
  }).toPass();
}

test("GraphiQL opens with a query that works for somebody who is not signed in", async ({ page }) => {
  const person = await register("gil", "Gil Query");
  await publish(person, `High tide, seen by ${person.handle}`);
  await page.goto("/graphiql/");
  await answers(page, `High tide, seen by ${person.handle}`);
  await expect(page.locator(".result-window")).not.toContainText("errors");
});

test("GraphiQL opens with the query and the variables of its address", async ({ page }) => {
  const person = await register("gil", "Gil Address");
  const asked = new URLSearchParams({ query: "query Asked($handle: String!) { user(handle: $handle) { name } }", variables: JSON.stringify({ handle: person.handle }) });
  await page.goto(`/graphiql/?${asked.toString()}`);
  await answers(page, "Gil Address");
});
