// What the page says of its line and what it makes up for, when nobody answers and nothing is closed. Time passes by the page's own clock, so that
// fifteen seconds are fifteen seconds on any machine, and none.
import { expect, type Page } from "@playwright/test";
import { lineTo } from "../../tests/clients/line.mjs";
import { follow, type Person, publish, register, speakTo } from "./api";
import { type Node, startNode } from "./node";
import { openAs, postWith, takePictures, waitUntilLive } from "./page";
import { test } from "./test";

/** Within which the page has to say that it is not live. */
const PROMISED_MS = 15_000;
/** Within which it has to be live again when its server is there. */
const RESTARTED_MS = 5_000;
/** What the page waits after an answer, and then for the next one. */
const [KEEP_ALIVE_MS, ANSWER_MS] = [8_000, 5_000];

let node: Node;
let viewer: Person;
let friend: Person;

test.beforeAll(async () => {
  node = await startNode();
  speakTo(`http://${node.address}`);
  viewer = await register("vera", "Vera Shore");
  friend = await register("finn", "Finn Harbour");
  await follow(viewer, friend);
  // What comes to an empty timeline is shown at once.
  await publish(friend, "before it all");
});

test.afterAll(async () => {
  speakTo(undefined);
  await node.end();
});

const state = (page: Page) => page.getByTestId("live");

async function openLive(page: Page, address: string) {
  await page.clock.install();
  await openAs(page, viewer, `http://${address}/`);
  await waitUntilLive(page);
}

/** What the page says when so much time has passed and no more, however long this machine takes to show it. */
async function saysAfter(page: Page, ms: number, text: string) {
  const first = 1_000;
  await page.clock.pauseAt(await page.evaluate(() => Date.now()) + first);
  await page.clock.runFor(ms - first);
  await expect(state(page)).toHaveText(text);
  await page.clock.resume();
}

/** What came while nobody was heard, and what comes now, is told; each once. */
async function catchesUp(page: Page, missed: string) {
  await waitUntilLive(page);
  await expect(page.getByTestId("new-posts")).toContainText("1 new post");
  await publish(friend, `after ${missed}`);
  await expect(page.getByTestId("new-posts")).toContainText("2 new posts");
  await page.getByTestId("new-posts").click();
  for (const text of [missed, `after ${missed}`]) await expect(postWith(page, text)).toHaveCount(1);
}

test("a server that hangs is not called live for fifteen seconds, and what it says later is shown", async ({ page }) => {
  await openLive(page, node.address);
  node.hang();
  await saysAfter(page, PROMISED_MS, "Reconnecting…");
  node.goOn();
  await publish(friend, "while it hung");
  await catchesUp(page, "while it hung");
});

test("a line that drops everything is not called live for fifteen seconds, and what was missed comes when it is mended", async ({ page }) => {
  const line = await lineTo(node.address);
  await openLive(page, line.address);
  line.silence();
  await publish(friend, "while the line was dead");
  await saysAfter(page, PROMISED_MS, "Reconnecting…");
  line.mend();
  // A try that began on the dead line is given up, and the next one made at once, for a page that is looked at again.
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await catchesUp(page, "while the line was dead");
  line.end();
});

test("a line on which the server answers stays live", async ({ page }) => {
  const pongs: string[] = [];
  page.on("websocket", (socket) => socket.on("framereceived", ({ payload }) => {
    if (String(payload).includes("\"pong\"")) pongs.push(String(payload));
  }));
  await openLive(page, node.address);
  await page.clock.runFor(KEEP_ALIVE_MS);
  await expect.poll(() => pongs.length).toBe(1);
  await page.clock.runFor(ANSWER_MS);
  await expect(state(page)).toHaveText("Live");
});

test("without a network the page says that it is offline, and goes on as soon as there is one", async ({ page, context }) => {
  await openLive(page, node.address);
  await context.setOffline(true);
  await saysAfter(page, PROMISED_MS, "Offline");
  await takePictures(page, "offline");
  await publish(friend, "while offline");
  await context.setOffline(false);
  await catchesUp(page, "while offline");
});

test("a page is live again within five seconds after its server has been restarted", async ({ page }) => {
  await openLive(page, node.address);
  const { again } = await node.crash();
  await expect(state(page)).toHaveText("Reconnecting…");
  // So long that each try waits as long as it ever will.
  for (let seconds = 0; seconds < 40; seconds += 1) await page.clock.runFor(1_000);
  await again();
  await saysAfter(page, RESTARTED_MS, "Live");
});
