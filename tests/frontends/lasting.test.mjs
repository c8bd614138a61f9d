// docs/frontend.md's subscriptions: they outlive the node that they were begun on, and wait for points.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import WebSocket from "ws";
import { bearer, start, until } from "../clients/server.mjs";
import { moduleOf } from "./guide.mjs";
import { publish, sessionOf } from "./world.mjs";

/** A subscription of `session`'s, from `after` on, that asks for `fields` of what comes; what it hears, messages included. */
async function listen(session, { fields = "", after: from = null, ...options }) {
  const { createSocket } = await moduleOf("feed.mjs");
  const heard = { texts: [], messages: [], ended: 0 };
  const on = { message: ({ type, payload }) => heard.messages.push(payload?.[0]?.extensions?.code ?? type) };
  const socket = createSocket({ ...session.socketOptions(), webSocketImpl: WebSocket, on, ...options });
  const query = `subscription($after: String) { newFeed(after: $after) { ... on EntryAdded { resumeToken timelineEdge { node { text ${fields} } } } } }`;
  const leave = socket.subscribe({ query, variables: { after: from } }, {
    next: ({ data }) => heard.texts.push(data.newFeed.timelineEdge?.node.text),
    error: () => { heard.ended += 1; },
    complete: () => { heard.ended += 1; },
  });
  after(leave);
  return { heard, leave };
}

test("a subscription goes on when its node stops and another one comes, and ends when it is left", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "tidefeed-feed-"));
  const settings = { "store.url": `sqlite://${folder}/feed.db`, "auth.secret": "of forty characters, as a test needs them" };
  let node = await start(settings);
  after(async () => {
    await node.stop("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });
  const ann = await node.register("ann");
  const { heard, leave } = await listen(await sessionOf(node, ann), { url: () => node.ws });
  for (const text of ["with the first", "with the second"]) {
    await until(`it hears ${text}`, async () => {
      await publish(node, ann, text);
      return heard.texts.includes(text);
    });
    if (text === "with the second") break;
    await node.stop();
    node = await start(settings);
  }
  assert.ok(heard.messages.includes("complete"), "the node completes what runs");
  assert.equal(heard.ended, 0);
  leave();
  await until("it has ended", () => heard.ended === 1);
});

test("a subscription that cannot be paid yet begins when it can", async () => {
  const server = await start({ "graphql.max_cost": 4000, "rate_limit.viewer_points": 4000, "rate_limit.viewer_points_per_s": 50 });
  const [ann, bob] = [await server.register("ann"), await server.register("bob")];
  await server.data("mutation($id: ID!) { followUser(input: { userId: $id }) { userErrors { message } } }", { id: bob.id }, ann.token);
  const { timeline } = await server.data("{ timeline(first: 1) { resumeToken } }", {}, ann.token);
  await publish(server, bob, "worth it");
  const spend = async () => (await server.post({ query: "{ __schema { queryType { name } } }" }, bearer(ann.token))).status;
  await until("all is spent", async () => (await spend()) === 429);
  const { heard } = await listen(await sessionOf(server, ann), { after: timeline.resumeToken, fields: "replies(first: 100) { nodes { id } }" });
  await until("it is refused", async () => {
    await spend();
    return heard.messages.includes("RATE_LIMITED");
  });
  await until("it hears", () => heard.texts.includes("worth it"));
  assert.deepEqual([heard.texts, heard.ended], [["worth it"], 0]);
});
