// Taking one's data along: a file that the browser saves as the server writes it.
import { readFile } from "node:fs/promises";
import { expect } from "@playwright/test";
import { block, bookmark, follow, hideFrom, like, mute, type Person, publish, publishMany, register } from "./api";
import { openSettings } from "./page";
import { test } from "./test";

let vera: Person;

test.beforeEach(async () => {
  vera = await register("vera", "Vera Shore");
});

test("one's data comes as one file, whole lists in it", async ({ page }) => {
  const other = await register("finn", "Finn Harbour");
  await publishMany(vera, Array.from({ length: 53 }, (_, number) => `post ${number}`));
  await follow(vera, other);
  await follow(other, vera);
  const [muted, blocked, hidden] = [await register("mute", "Mute"), await register("bloc", "Bloc"), await register("hide", "Hide")];
  await mute(vera, muted);
  await block(vera, blocked);
  await hideFrom(vera, hidden);
  await like(vera, await publish(other, "liked"));
  await bookmark(vera, await publish(other, "kept"));
  await openSettings(page, vera);
  const started = page.waitForEvent("download");
  await page.getByTestId("download-data").click();
  const download = await started;
  expect(download.suggestedFilename()).toBe(`tidefeed-${vera.handle}.json`);
  const data = JSON.parse(await readFile(await download.path(), "utf8")) as Record<string, { text: string; user: { handle: string }; content: { text: string } }[]>
    & { format: string; version: number; complete: boolean; profile: { handle: string }; sessions: unknown[] };
  expect([data.format, data.version, data.complete]).toEqual(["tidefeed-export", 1, true]);
  expect(data.contents?.map(({ text }) => text)).toEqual(Array.from({ length: 53 }, (_, number) => `post ${52 - number}`));
  expect(data.following?.map(({ user }) => user.handle)).toEqual([other.handle]);
  expect(data.profile.handle).toBe(vera.handle);
  expect(data.sessions).toHaveLength(1);
  expect(data.followers?.map(({ user }) => user.handle)).toEqual([other.handle]);
  expect([data.bookmarks, data.likes].map((list) => list?.map(({ content }) => content.text))).toEqual([["kept"], ["liked"]]);
  const keptOut = [data.mutedUsers, data.blockedUsers, data.hiddenFollowers].map((list) => list?.map(({ user }) => user.handle));
  expect(keptOut).toEqual([[muted.handle], [blocked.handle], [hidden.handle]]);
});

test("where the link cannot be had, the page says so and stays", async ({ page }) => {
  await openSettings(page, vera);
  await page.route("**/graphql", (route) => route.abort());
  await page.getByTestId("download-data").click();
  await expect(page.getByRole("alert").filter({ hasText: "cannot be reached" })).toBeVisible();
  await page.unroute("**/graphql");
  const started = page.waitForEvent("download");
  await page.getByTestId("download-data").click();
  await started;
  await expect(page.getByRole("alert").filter({ hasText: "cannot be reached" })).toHaveCount(0);
});
