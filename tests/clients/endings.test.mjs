// Every HTTP status and every close code of docs/errors.md, caused as a client causes it; and no others stand there.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { once } from "node:events";
import { test } from "node:test";
import { Frames, PING, PONG, TEXT, frame } from "./frames.mjs";
import { bearer, start } from "./server.mjs";
import { Socket } from "./socket.mjs";

const errors = readFileSync(new URL("../../docs/errors.md", import.meta.url), "utf8");
/** The numbers in the first column of a section's table. */
const documented = (section) => {
  const [table] = errors.split(`## ${section}`)[1].split("\n## ");
  return [...table.matchAll(/^\| (\d[\d, ]*) \|/gm)].flatMap(([, codes]) => codes.split(", ")).map(Number).toSorted();
};

const JSON_BODY = { "content-type": "application/json" };
const STRICT = { ...JSON_BODY, accept: "application/graphql-response+json" };
const STREAM = { ...JSON_BODY, accept: "text/event-stream" };
const TOKEN = "x-graphql-event-stream-token";
const WATCH = "subscription { newFeed { __typename } }";

const server = await start({
  "websocket.init_timeout_ms": 1000, "websocket.message_timeout_ms": 200, "websocket.max_operations": 2,
  "server.max_body_bytes": 20_000,
});
const ann = await server.register("ann");
const poor = await start({ "graphql.max_cost": 100, "rate_limit.anonymous_points": 100, "rate_limit.anonymous_points_per_s": 1 });

/** What a server answers to these bytes: the status. */
async function told(head) {
  const [host, port] = server.address.split(":");
  const socket = connect(Number(port), host);
  socket.write(head);
  const [answer] = await once(socket, "data");
  socket.destroy();
  return Number(String(answer).split(" ")[1]);
}

const asked = (init, query = "") => fetch(server.url + query, init);
const posted = (body, headers = STRICT) => asked({ method: "POST", headers, body: JSON.stringify(body) });
const reserved = async () => (await asked({ method: "PUT", headers: bearer(ann.token) })).text();

/** By status: what is answered so. */
const STATUSES = {
  200: () => posted({ query: "{ nothing }" }, JSON_BODY),
  201: async () => {
    const answer = await asked({ method: "PUT", headers: bearer(ann.token) });
    const stream = await asked({ headers: { accept: "text/event-stream", [TOKEN]: await answer.text(), ...bearer(ann.token) } });
    await stream.body.cancel();
    return answer;
  },
  202: async () => {
    const token = await reserved();
    const stream = await asked({ headers: { accept: "text/event-stream", [TOKEN]: token } });
    const answer = await posted({ query: "{ __typename }", extensions: { operationId: "1" } }, { ...JSON_BODY, [TOKEN]: token });
    await stream.body.cancel();
    return answer;
  },
  400: () => posted({ query: "{ nothing }" }),
  401: () => posted({ query: "{ __typename }" }, { ...STRICT, ...bearer("nonsense") }),
  403: async () => Frames.open(server, { Origin: "https://elsewhere.example" }),
  404: () => asked({ headers: { accept: "text/event-stream", [TOKEN]: "nobody's" } }),
  405: () => asked({ method: "PATCH" }),
  406: () => posted({ query: "{ __typename }" }, { ...JSON_BODY, accept: "text/html" }),
  409: async () => {
    const token = await reserved();
    const headers = { accept: "text/event-stream", [TOKEN]: token };
    const stream = await asked({ headers });
    const answer = await asked({ headers });
    await stream.body.cancel();
    return answer;
  },
  413: () => posted({ query: "x".repeat(20_001) }),
  414: () => asked({}, `?query=${"x".repeat(70_000)}`),
  415: () => asked({ method: "POST", headers: { "content-type": "text/plain" }, body: "{}" }),
  431: () => asked({ headers: Object.fromEntries(Array.from({ length: 150 }, (_, number) => [`x-${number}`, "y"])) }),
  429: async () => {
    const dear = { method: "POST", headers: STRICT, body: JSON.stringify({ query: "{ __schema { queryType { name } } }" }) };
    let answer = await fetch(poor.url, dear);
    for (let more = 0; answer.status === 200 && more < 100; more += 1) answer = await fetch(poor.url, dear);
    assert.ok(Number(answer.headers.get("retry-after")) >= 1);
    return answer;
  },
};

/** What nobody outside can cause: a resolver that panics. */
const OURS = [500];
/** Asked of a server of their own. */
const APART = [410, 503];

for (const [status, cause] of Object.entries(STATUSES)) {
  test(`${status} is answered`, async () => { assert.equal((await cause()).status, Number(status)); });
}

test("410 is answered where a public page's content has been deleted, and 404 where nothing ever was", async () => {
  const open = await start({ "api.public_pages": true });
  const { token } = await open.register("author");
  const { publishContent } = await open.data("mutation { publishContent(input: { text: \"x\" }) { timelineEdge { node { id } } } }", {}, token);
  const { id } = publishContent.timelineEdge.node;
  const status = async (path) => (await fetch(`http://${open.address}${path}`, { headers: { accept: "text/html" } })).status;
  assert.deepEqual([await status(`/post/${id}`), await status("/@nobody")], [200, 404]);
  await open.data("mutation($id: ID!) { deleteContent(input: { contentId: $id }) { deletedContentId } }", { id }, token);
  assert.equal(await status(`/post/${id}`), 410);
});

test("503 is answered where there is no room for another stream, and says when to come again", async () => {
  const full = await start({ "sse.max_streams": 1 });
  const reader = await full.register("reader");
  const open = () => fetch(full.url, { method: "POST", headers: { ...STREAM, ...bearer(reader.token) }, body: JSON.stringify({ query: WATCH }) });
  const [first, second] = [await open(), await open()];
  assert.deepEqual([first.status, second.status], [200, 503]);
  assert.ok(Number(second.headers.get("retry-after")) >= 1);
  await first.body.cancel();
});

/** A port on which nobody listens. */
async function closedPort() {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address();
  listener.close();
  await once(listener, "close");
  return port;
}

/** A token that only an issuer who cannot be asked could know: its header names a key. */
const foreign = ["{\"alg\":\"RS256\",\"kid\":\"k\"}", "{\"iss\":\"https://issuer.example\"}", "signature"].map((part) => Buffer.from(part).toString("base64url")).join(".");

/** By close code: what is closed so, as a promise of the code. */
const CLOSES = {
  1001: async () => {
    const stopping = await start();
    const socket = await Socket.ready(stopping);
    stopping.stop();
    return socket.closed;
  },
  1002: () => framed(frame(3, "x")),
  1007: () => framed(frame(TEXT, Buffer.from([0xff]))),
  1008: () => framed(frame(TEXT, "x".repeat(10_000), { length: 15_000 })),
  1009: () => framed(frame(TEXT, "x", { length: 2 ** 40 })),
  1013: async () => {
    const jwks = `http://127.0.0.1:${await closedPort()}/jwks`;
    const cut_off = await start({ "issuer.url": "https://issuer.example", "issuer.audience": "tidefeed", "issuer.jwks_url": jwks });
    const socket = await Socket.open(cut_off);
    socket.say({ type: "connection_init", payload: bearer(foreign) });
    return socket.closed;
  },
  4400: () => said("nonsense"),
  4401: () => said({ id: "1", type: "subscribe", payload: { query: "{ __typename }" } }),
  4403: () => said({ type: "connection_init", payload: bearer("nonsense") }),
  4408: () => said(),
  4409: () => watching("1", "1"),
  4429: () => watching("1", "2", "3"),
};

/** On an acknowledged connection. */
async function framed(bytes) {
  const client = await Frames.ready(server);
  client.send(bytes);
  for (;;) {
    const heard = await client.next();
    if (heard.opcode === 8) return { code: heard.payload.readUInt16BE(0) };
  }
}

async function said(...messages) {
  const socket = await Socket.open(server);
  for (const message of messages) socket.say(message);
  return socket.closed;
}

/** Subscriptions with these ids, one after the other. */
async function watching(...ids) {
  const socket = await Socket.ready(server, ann.token);
  for (const id of ids) socket.subscribe(id, WATCH);
  return socket.closed;
}

for (const [code, cause] of Object.entries(CLOSES)) {
  test(`a socket is closed with ${code}`, async () => { assert.equal((await cause()).code, Number(code)); });
}

test("docs/errors.md has these statuses and these close codes, and no others", () => {
  assert.deepEqual(documented("HTTP"), [...Object.keys(STATUSES).map(Number), ...OURS, ...APART].toSorted());
  assert.deepEqual(documented("WebSocket"), Object.keys(CLOSES).map(Number).toSorted());
});

for (const [what, head, status] of [
  ["HTTP/1.1 without Host", "GET /healthz HTTP/1.1\r\n\r\n", 400],
  ["HTTP/1.1 with two", "GET /healthz HTTP/1.1\r\nHost: a.example\r\nHost: b.example\r\n\r\n", 400],
  ["HTTP/1.1 with one that is none", "GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n", 400],
  ["HTTP/1.0 with two", "GET /healthz HTTP/1.0\r\nHost: a.example\r\nHost: b.example\r\n\r\n", 400],
  ["HTTP/1.1 with one", "GET /healthz HTTP/1.1\r\nHost: a.example\r\n\r\n", 200],
  ["HTTP/1.0 without", "GET /healthz HTTP/1.0\r\n\r\n", 200],
]) {
  test(`${status}: ${what}`, async () => { assert.equal(await told(head), status); });
}

test("1008: a message of which a byte comes now and then", async () => {
  const client = await Frames.ready(server);
  client.send(frame(TEXT, "{", { length: 100 }));
  const dripping = setInterval(() => { client.send(Buffer.from("x")); }, 50);
  try {
    await client.closesWith(1008);
  } finally {
    clearInterval(dripping);
  }
});

test("1008: a message in parts of which the last does not come, pongs between them", async () => {
  const client = await Frames.ready(server);
  client.send(frame(TEXT, "{", { fin: false }));
  const answering = setInterval(() => { client.send(frame(PONG, "here")); }, 50);
  try {
    await client.closesWith(1008);
  } finally {
    clearInterval(answering);
  }
});

test("a client that pings and has begun no message stays", async () => {
  const client = await Frames.ready(server);
  for (let round = 0; round < 20; round += 1) {
    client.send(frame(PING, "here"));
    assert.equal((await client.next()).opcode, PONG);
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
  client.send(frame(TEXT, JSON.stringify({ type: "ping" })));
  await client.hears({ type: "pong" });
  client.leave();
});

test("who registers too often from one address is RATE_LIMITED with the time to wait", async () => {
  const narrow = await start({ "auth.registrations_per_hour": 2 });
  await narrow.register("one");
  await narrow.register("two");
  const query = "mutation { registerUser(input: { handle: \"three\", name: \"Three\", password: \"correct horse battery\" }) { user { id } } }";
  const { json } = await narrow.post({ query });
  const { code, retryAfter } = json.errors[0].extensions;
  assert.equal(code, "RATE_LIMITED");
  assert.ok(retryAfter > 0 && retryAfter <= 1801, `${retryAfter} s`);
  assert.equal(json.data.registerUser, null);
});
