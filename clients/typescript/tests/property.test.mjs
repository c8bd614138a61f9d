// The package's promise, tried at random: whatever comes, goes, folds and fails, the list is the server's timeline when nothing happens any more, and a person
// sees it, but for what waits. Who is not signed in, and has a profile open, then sees it as the server tells it.
// OPERATIONS: how many (300); SEED: which. A failure prints both.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { lineTo } from "../../../tests/clients/line.mjs";
import { until } from "../../../tests/clients/server.mjs";
import { keepCurrent } from "../dist/current.js";
import { clientOf, mutate, NOBODY, publish, SOON, startServer, timelineOf, watch } from "./world.mjs";

const OPERATIONS = Number(process.env.OPERATIONS ?? 300);
const SEED = Number(process.env.SEED ?? 20261122);
/** Operations between two times of rest. */
const ROUND = 40;
const AUTHORS = 5;
/** For a machine that has other things to do, too. */
const REST_MS = 180_000;

/** mulberry32. */
function randomOf(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (bound) => Math.floor(next() * bound);
  return { below, of: (list) => list[below(list.length)], chance: (part) => next() < part };
}

/** Gives each tenth time a token that the server refuses, and is then asked for another one. */
function issuerOf({ token }) {
  let asked = 0;
  return async (refused) => {
    asked += 1;
    return refused === null && asked % 10 === 0 ? "of yesterday" : token;
  };
}

/** A reader, their list, and what they have asked for that is not answered yet. */
async function deviceOf(server, name, options) {
  const reader = await server.register(name);
  const line = await lineTo(server.address);
  after(line.end);
  const client = clientOf(reader, line.address, options.isIssued ? { ...SOON, token: issuerOf(reader) } : SOON);
  const timeline = client.timeline({ checkMs: 0, settleMs: 200, keep: 150, ...options });
  watch(timeline);
  const device = { name, reader, line, client, timeline, kinds: options.kinds, open: new Set(), failures: 0 };
  device.ask = (promise) => {
    const settled = promise.catch(() => { device.failures += 1; }).finally(() => { device.open.delete(settled); });
    device.open.add(settled);
  };
  return device;
}

const PROFILE = `query($id: ID!) { node(id: $id) { ... on User { id followerCount contentCount contents(first: 20) {
  edges { cursor node { id subjectId text likeCount replyCount repostCount viewerHasReposted } } pageInfo { hasNextPage endCursor } } } } }`;

/** Who is not signed in, with the profile of `author` open. */
async function visitorOf(server, { id }) {
  const line = await lineTo(server.address);
  after(line.end);
  const client = keepCurrent(clientOf(NOBODY, line.address, SOON));
  const query = client.query(PROFILE, { id }, { outdatedBy: ({ event, changed }) => event?.__typename === "ContentRemoved" || changed?.has(id) === true });
  watch(query);
  return { line, shown: () => query.getSnapshot().value, wanted: () => server.data(PROFILE, { id }) };
}

async function settleWorld() {
  // Each rest is read as often as it takes: points are another test's.
  const server = await startServer({ "live.catch_up": 128, "rate_limit.viewer_points": 100_000_000 });
  const authors = [];
  for (let number = 0; number < AUTHORS; number += 1) authors.push({ ...(await server.register(`author_${number}`)), contents: [] });
  const devices = [
    await deviceOf(server, "near", { first: 7, isIssued: true }),
    await deviceOf(server, "deep", { first: 80 }),
    await deviceOf(server, "holding", { first: 20, holdNew: true }),
    await deviceOf(server, "of_words", { first: 10, kinds: ["POST", "REPLY"] }),
    await deviceOf(server, "of_reposts", { first: 10, holdNew: true, kinds: ["REPOST"] }),
  ];
  await Promise.all(authors.map(async (author) => {
    for (let number = 0; number < 15; number += 1) author.contents.push(await publish(server, `before ${number}`, author));
  }));
  for (const { reader } of devices) for (const { id } of authors.slice(0, 3)) await mutate(server, "followUser", { userId: id }, reader);
  return { server, authors, devices, visitor: await visitorOf(server, authors[0]) };
}

/** What others do, straight at the server. */
const OTHERS = [
  [30, async ({ server, authors }, random, number) => {
    const author = random.of(authors);
    author.contents.push(await publish(server, `content ${number}`, author));
  }],
  [8, async ({ server, authors }, random, number) => {
    const replyTo = random.of(random.of(authors).contents.slice(-60));
    const author = random.of(authors);
    if (replyTo !== undefined) author.contents.push(await publish(server, `reply ${number}`, author, replyTo));
  }],
  [14, async ({ server, authors }, random) => {
    const contentId = random.of(random.of(authors).contents.slice(-60));
    if (contentId !== undefined) await mutate(server, "repostContent", { contentId }, random.of(authors));
  }],
  [10, async ({ server, authors }, random) => {
    const contentId = random.of(random.of(authors).contents.slice(-60));
    if (contentId !== undefined) for (const author of authors) await mutate(server, "unrepostContent", { contentId }, author);
  }],
  [6, async ({ server, authors }, random) => {
    const author = random.of(authors);
    const [contentId] = author.contents.splice(random.below(author.contents.length), 1);
    if (contentId !== undefined) await mutate(server, "deleteContent", { contentId }, author);
  }],
  // Another device of the reader's.
  [5, ({ server, authors, devices }, random) => mutate(server, "followUser", { userId: random.of(authors).id }, random.of(devices).reader)],
  [3, ({ server, authors, devices }, random) => mutate(server, "unfollowUser", { userId: random.of(authors).id }, random.of(devices).reader)],
];

/** What the reader does on the device itself, whatever its line is like. */
const OWN = [
  [8, ({ ask, client }, _world, _random, number) => ask(client.publish({ text: `of my own ${number}` }))],
  [6, ({ ask, client, timeline }, _world, random) => {
    const entry = random.of(timeline.getSnapshot().entries);
    if (entry !== undefined && !entry.isDraft) ask(client[random.of(["repost", "repost", "unrepost"])](entry.content.subjectId));
  }],
  [6, ({ ask, client, timeline }, _world, random) => {
    const entry = random.of(timeline.getSnapshot().entries);
    if (entry !== undefined && !entry.isDraft) ask(client[random.of(["like", "unlike", "bookmark"])](entry.id));
  }],
  [4, ({ ask, client }, { authors }, random) => ask(client.follow(random.of(authors).id))],
  [2, ({ ask, client }, { authors }, random) => ask(client.unfollow(random.of(authors).id))],
  [2, ({ ask, client }, { authors }, random) => ask(client.mute(random.of(authors).id))],
  [3, ({ ask, client }, { authors }, random) => ask(client.unmute(random.of(authors).id))],
  [3, ({ ask, client, timeline }, _world, random) => {
    const mine = timeline.getSnapshot().entries.filter(({ content, isDraft }) => content.viewerIsAuthor && !isDraft);
    if (mine.length > 0) ask(client.remove(random.of(mine).id));
  }],
  [6, ({ ask, timeline }) => { if (timeline.getSnapshot().entries.length < 140) ask(timeline.loadOlder()); }],
  [3, ({ timeline }) => timeline.showNew()],
  [3, ({ ask, timeline }) => ask(timeline.markRead())],
  [4, ({ line }) => line.cut()],
  [3, ({ line }, _world, random) => line.slow(random.of([0, 0, 5, 30]))],
  [1, ({ line, ask }) => {
    line.silence();
    ask(sleep(300).then(() => line.mend()));
  }],
];

function weighted(table, random) {
  let left = random.below(table.reduce((sum, [weight]) => sum + weight, 0));
  return table.find(([weight]) => (left -= weight) < 0)[1];
}

const idsOf = (entries) => entries.map(({ id }) => id);

/** How the list of a device differs from the server's timeline; null if it does not. */
async function difference({ server }, { timeline, reader, name, kinds }) {
  const { entries, status, isSettled, hasOlder, error } = timeline.getSnapshot();
  if (status !== "ready" || !isSettled || error !== null) return `${name}: ${status}, settled: ${isSettled}, ${error}`;
  const { nodes, isWhole } = await timelineOf(server, reader, entries.length + (hasOlder ? 0 : 1), kinds);
  const [is, wanted] = [idsOf(entries), idsOf(nodes)];
  const at = is.findIndex((id, index) => id !== wanted[index]);
  if (at >= 0 || is.length !== wanted.length) return `${name}: differs at ${at} of ${is.length} (${wanted.length}): ${entries[at]?.content.text} for ${nodes[at]?.text}`;
  return !hasOlder && !isWhole ? `${name}: ends at ${is.length}, but the timeline goes on` : null;
}

/** How what a person sees differs: what is not shown waits, and is counted; what has left is shown while a newer entry of its subject waits. Null if it does not. */
async function seenDifferently({ server }, { timeline, reader, name, kinds }) {
  const { entries, newCount, hasOlder } = timeline.getSnapshot();
  const { nodes } = await timelineOf(server, reader, entries.length + newCount + 1, kinds);
  const stays = entries.filter(({ id }) => !nodes.some((node) => node.id === id));
  const reached = nodes.slice(0, entries.length - stays.length + newCount);
  const shown = new Set(idsOf(entries));
  const waiting = reached.filter(({ id }) => !shown.has(id));
  const is = entries.filter((entry) => !stays.includes(entry));
  if (!hasOlder && reached.length < nodes.length) return `${name}: ends at ${reached.length}, but the timeline goes on`;
  if (waiting.length !== newCount || (entries.length === 0 && newCount > 0)) return `${name}: shows ${entries.length}, ${waiting.length} wait, and ${newCount} are counted`;
  if (!stays.every(({ content }) => waiting.some(({ subjectId }) => subjectId === content.subjectId))) return `${name}: shows what is gone`;
  return idsOf(is).join() === idsOf(reached.filter(({ id }) => shown.has(id))).join() ? null : `${name}: shows ${idsOf(is)}, of ${idsOf(reached)}`;
}

async function rest(world, when) {
  for (const { line } of world.devices) {
    line.mend();
    line.slow(0);
  }
  for (const device of world.devices) {
    while (device.open.size > 0) await Promise.all(device.open);
    const deadline = Date.now() + REST_MS;
    let differs = "not looked yet";
    while (differs !== null && Date.now() < deadline) {
      differs = await seenDifferently(world, device);
      if (differs === null) {
        device.timeline.showNew();
        differs = await difference(world, device);
      }
      if (differs !== null) await sleep(25);
    }
    assert.equal(differs, null, `after ${when} operations of seed ${SEED}`);
    assert.equal(device.timeline.getSnapshot().newCount, 0);
  }
}

test(`after ${OPERATIONS} random operations each list was the server's timeline at every rest`, { timeout: 2 ** 31 - 1 }, async (context) => {
  const world = await settleWorld();
  const random = randomOf(SEED);
  await rest(world, 0);
  let [number, rests] = [0, 0];
  // A list may be empty at some rest, because its reader follows nobody then; one that always is shows nothing.
  const longest = world.devices.map(() => 0);
  while (number < OPERATIONS) {
    world.visitor.line.cut();
    for (const end = Math.min(number + ROUND, OPERATIONS); number < end;) {
      const together = Array.from({ length: Math.min(1 + random.below(3), end - number) }, () => {
        number += 1;
        if (random.chance(0.5)) return weighted(OTHERS, random)(world, random, number);
        const device = random.of(world.devices);
        return weighted(OWN, random)(device, world, random, number);
      });
      await Promise.all(together);
    }
    await rest(world, number);
    rests += 1;
    for (const [index, { timeline }] of world.devices.entries()) longest[index] = Math.max(longest[index], timeline.getSnapshot().entries.length);
    if (rests % 25 === 0) console.error(`${number} operations, ${rests} times of rest, 0 differences`);
  }
  let [{ shown, wanted }, expected] = [world.visitor, null];
  for (const deadline = Date.now() + REST_MS; Date.now() < deadline && !isDeepStrictEqual(shown(), expected); await sleep(100)) expected = await wanted();
  assert.deepEqual(shown(), expected, `who is not signed in, after ${number} operations of seed ${SEED}`);
  context.diagnostic(`${number} operations, ${rests} times of rest, 0 differences; changes that had no answer: ${world.devices.map(({ failures }) => failures).join(", ")}`);
  assert.ok(longest.every((length) => length > 0), `lists that were always empty: ${longest}`);
});

const MUTED = "whom they had muted";
/** How who follows nobody comes to follow somebody. */
const FIRST_FOLLOWS = {
  "on this device": ({ client }, { id }) => client.follow(id),
  "on another device": ({ reader }, { id }, server) => mutate(server, "followUser", { userId: id }, reader),
  "while their line is cut": async ({ reader, line }, { id }, server) => {
    line.silence();
    await mutate(server, "followUser", { userId: id }, reader);
    line.mend();
  },
  [MUTED]: async ({ client, reader }, { id }, server) => {
    await mutate(server, "muteUser", { userId: id }, reader);
    await mutate(server, "followUser", { userId: id }, reader);
    await client.unmute(id);
  },
};

test("who follows nobody sees the whole history of the first whom they follow, newest first, and what comes then waits", async () => {
  const world = { server: await startServer() };
  for (const [length, kinds] of [[30, ["POST"]], [90, undefined]]) {
    const author = await world.server.register(`author_of_${length}`);
    for (let number = 0; number < length; number += 1) await publish(world.server, `content ${number}`, author);
    await Promise.all(Object.entries(FIRST_FOLLOWS).map(async ([how, follow], at) => {
      const device = await deviceOf(world.server, `reader_${length}_${at}`, { first: 20, holdNew: true, kinds });
      const { getSnapshot } = device.timeline;
      await until("it is read and live", () => getSnapshot().isSettled && device.client.connection.getSnapshot() === "live");
      const waited = new Set();
      watch(device.timeline, () => { waited.add(getSnapshot().newCount); });
      await follow(device, author, world.server);
      await until(`the newest is there of who follows ${how}`, () => getSnapshot().entries[0]?.content.text === `content ${length - 1}`);
      let differs = "not looked yet";
      for (const deadline = Date.now() + REST_MS; differs !== null && Date.now() < deadline; await sleep(25)) differs = await seenDifferently(world, device);
      assert.equal(differs, null, how);
      // The stream may tell of whoever was muted before it is answered that they are no longer.
      assert.deepEqual([getSnapshot().newCount, how === MUTED || waited.size], [0, how === MUTED || 1], `nothing waits of who follows ${how}`);
      device.news = () => until(`news wait of who follows ${how}`, () => getSnapshot().newCount === 1);
      world[how] = device;
    }));
    await sleep(500); // The stream has told all by now.
    await publish(world.server, "news", author);
    await Promise.all(Object.keys(FIRST_FOLLOWS).map((how) => world[how].news()));
  }
});
