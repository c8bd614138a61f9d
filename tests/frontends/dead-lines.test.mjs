// docs/frontend.md's clients on lines that are dead and do not say so: a server that hangs, and a network that drops what is sent.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import WebSocket from "ws";
import { lineTo } from "../clients/line.mjs";
import { bearer, start, until, within } from "../clients/server.mjs";
import { moduleOf } from "./guide.mjs";
import { publish, sessionOf } from "./world.mjs";

/** The guide's deadlines, shortened; the server's beside them. */
const SOON = { keepAlive: 100, answerMs: 500, retryWait: () => new Promise((resolve) => { setTimeout(resolve, 50); }) };
const SERVER = { "websocket.ping_ms": 200, "websocket.pong_timeout_ms": 500 };
const TOKEN = "{ timeline(first: 1) { resumeToken } }";
const FEED = "subscription($after: String) { newFeed(after: $after) { ... on EntryAdded { resumeToken timelineEdge { node { text } } } } }";

/** A feed of `ann`'s by way of `url`, from now on: what it hears, and whether it is live. */
async function listen(server, ann, url) {
  const { createSocket } = await moduleOf("feed.mjs");
  const state = { texts: [], live: false, losses: 0, errors: [] };
  const on = {
    connected: () => { state.live = true; },
    closed: () => {
      state.live = false;
      state.losses += 1;
    },
  };
  const socket = createSocket({ ...(await sessionOf(server, ann)).socketOptions(), url, on, webSocketImpl: WebSocket, ...SOON });
  const { timeline } = await server.data(TOKEN, {}, ann.token);
  after(socket.subscribe({ query: FEED, variables: { after: timeline.resumeToken } }, {
    next: ({ data }) => { if (data.newFeed.timelineEdge !== undefined) state.texts.push(data.newFeed.timelineEdge.node.text); },
    error: (error) => state.errors.push(error),
    complete: () => {},
  }));
  return state;
}

/** Each text once, in order. */
async function hears(state, texts) {
  await until(`it hears ${texts}`, () => state.texts.length >= texts.length);
  assert.deepEqual([state.texts, state.errors], [texts, []]);
}

test("a server that hangs is noticed, and heard again when it goes on", async () => {
  const server = await start();
  const ann = await server.register("ann");
  const state = await listen(server, ann, server.ws);
  await publish(server, ann, "before");
  await hears(state, ["before"]);
  server.hang();
  await until("it is not live", () => !state.live);
  // Nobody answers the next try either.
  await until("the try is given up", () => state.losses >= 2);
  server.goOn();
  await publish(server, ann, "after");
  await hears(state, ["before", "after"]);
  assert.ok(state.live);
});

test("a line that drops everything is noticed at both of its ends, and what was missed is told", async () => {
  const server = await start(SERVER);
  const line = await lineTo(server.address);
  after(line.end);
  const ann = await server.register("ann");
  const sockets = () => server.metric("tidefeed_websockets");
  const state = await listen(server, ann, `ws://${line.address}/graphql/ws`);
  await publish(server, ann, "before");
  await hears(state, ["before"]);
  line.silence();
  await publish(server, ann, "while away");
  await until("the client has noticed", () => !state.live);
  await until("the server has noticed", async () => (await sockets()) === 0);
  line.mend();
  await hears(state, ["before", "while away"]);
  await publish(server, ann, "after");
  await hears(state, ["before", "while away", "after"]);
  await until("there is one socket", async () => (await sockets()) === 1);
});

test("a line that is dead from the beginning does not keep a client from trying again", async () => {
  const server = await start();
  const line = await lineTo(server.address);
  after(line.end);
  const ann = await server.register("ann");
  line.silence();
  const state = await listen(server, ann, `ws://${line.address}/graphql/ws`);
  await until("a try is given up", () => state.losses >= 1);
  line.mend();
  await publish(server, ann, "at last");
  await hears(state, ["at last"]);
});

test("a line on which the server answers in time is not given up", async () => {
  const server = await start();
  const line = await lineTo(server.address);
  after(line.end);
  const ann = await server.register("ann");
  const pongs = [];
  const { createSocket } = await moduleOf("feed.mjs");
  const on = { pong: (received) => { if (received) pongs.push(received); }, closed: () => pongs.push("closed") };
  const socket = createSocket({ url: `ws://${line.address}/graphql/ws`, connectionParams: { authorization: `Bearer ${ann.token}` }, on, webSocketImpl: WebSocket, keepAlive: 10, answerMs: 30_000 });
  after(socket.subscribe({ query: FEED }, { next: () => {}, error: () => {}, complete: () => {} }));
  await until("it was asked often", () => pongs.length >= 50);
  assert.ok(!pongs.includes("closed"));
});

test("a stream on a line that drops everything fails, and one on which only comments come does not", async () => {
  const server = await start({ "sse.keep_alive_ms": 100 });
  const line = await lineTo(server.address);
  after(line.end);
  const ann = await server.register("ann");
  const { watchedFetch } = await moduleOf("watched-fetch.mjs");
  const headers = { accept: "text/event-stream", "content-type": "application/json", ...bearer(ann.token) };
  const response = await watchedFetch(fetch, 2000)(`http://${line.address}/graphql`, { method: "POST", headers, body: JSON.stringify({ query: FEED }) });
  const chunks = response.body.getReader();
  // Longer than may be silent. A busy machine brings several at once.
  for (let comments = 0; comments < 25; ) {
    const chunk = Buffer.from((await chunks.read()).value).toString();
    assert.match(chunk, /^(:\n\n)+$/);
    comments += chunk.length / ":\n\n".length;
  }
  line.silence();
  const ends = async () => { while (!(await chunks.read()).done); };
  await assert.rejects(within("the stream has failed", ends()), /Nothing comes on the stream/);
});
