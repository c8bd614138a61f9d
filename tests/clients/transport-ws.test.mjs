// Every rule of graphql-transport-ws (PROTOCOL.md of github.com/enisdenjo/graphql-ws) that a server can break, with messages of our own.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bearer, start, until } from "./server.mjs";
import { Socket } from "./socket.mjs";

const FEED = "subscription { newFeed { ... on EntryAdded { timelineEdge { node { text } } } } }";
const TYPE = "{ __typename }";
const server = await start({ "websocket.init_timeout_ms": 60_000 });
/** Waits for connection_init longer than a busy machine takes, and no longer than a test can wait. */
const hasty = await start({ "websocket.init_timeout_ms": 1500 });
const [ann, bob] = await Promise.all(["ann", "bob"].map((handle) => server.register(handle)));
await server.data("mutation($id: ID!) { followUser(input: { userId: $id }) { userErrors { code } } }", { id: bob.id }, ann.token);
const feed = (message) => message.payload.data.newFeed.timelineEdge.node.text;

/** A subscription of ann's that is known to run: it has heard of a content. */
async function watching(socket, id, variables = {}) {
  socket.subscribe(id, FEED, variables);
  let heard;
  socket.next().then((message) => { heard = message; });
  await until("the subscription runs", async () => {
    if (heard === undefined) await server.publish(bob, "are you there?");
    return heard !== undefined;
  });
  assert.equal(feed(heard), "are you there?");
  // What was published while the answer came may come, too; a mark tells its end.
  await server.publish(bob, `mark ${id}`);
  while (feed(await socket.next()) !== `mark ${id}`);
}

test("the server speaks graphql-transport-ws, whatever else the client offers", async () => {
  const socket = await Socket.open(server, {}, ["graphql-ws", "graphql-transport-ws"]);
  assert.equal(socket.raw.protocol, "graphql-transport-ws");
  await socket.close();
});
for (const [what, protocols] of [["no subprotocol", []], ["another subprotocol only", ["graphql-ws"]]]) {
  test(`a client with ${what} is not let in`, async () => {
    await assert.rejects(Socket.open(server, {}, protocols), /400/);
  });
}
test("connection_init is acknowledged, and before it the server says nothing", async () => {
  const socket = await Socket.open(server);
  await socket.quiet();
  socket.say({ type: "connection_init" });
  await socket.hears({ type: "connection_ack" });
  await socket.close();
});
test("connection_init takes any object as payload, and null", async () => {
  for (const payload of [{}, null, { anything: [1, { deep: true }] }]) {
    const socket = await Socket.open(server);
    socket.say({ type: "connection_init", payload });
    await socket.hears({ type: "connection_ack" });
    await socket.close();
  }
});
test("4408: no connection_init in time, whatever else is said", async () => {
  const silent = await Socket.open(hasty);
  const busy = await Socket.open(hasty);
  const pings = setInterval(() => { busy.say({ type: "ping" }); }, 50);
  await silent.closesWith(4408, /^Connection initialisation timeout$/);
  await busy.closesWith(4408);
  clearInterval(pings);
});
test("an acknowledged socket outlives the time of connection_init", async () => {
  const socket = await Socket.ready(hasty);
  const late = await Socket.open(hasty);
  await late.closesWith(4408);
  await socket.quiet();
  await socket.close();
});
test("4429: connection_init twice, one after the other", async () => {
  const socket = await Socket.ready(server);
  socket.say({ type: "connection_init" });
  await socket.closesWith(4429, /^Too many initialisation requests$/);
});
test("4429: connection_init twice in one breath", async () => {
  const socket = await Socket.open(server);
  socket.say({ type: "connection_init" });
  socket.say({ type: "connection_init" });
  await socket.closesWith(4429);
});
test("4429: more pings and pongs than come back, whatever the protocol lets a client say", async () => {
  for (const message of [{ type: "ping" }, { type: "pong" }, { type: "complete", id: "never" }]) {
    const socket = await Socket.ready(server);
    for (let count = 0; count < 1000; count += 1) socket.say(message);
    await socket.closesWith(4429, /^Too many messages: /);
  }
});
test("4401: subscribe before connection_init", async () => {
  const socket = await Socket.open(server);
  socket.subscribe("1", TYPE);
  await socket.closesWith(4401, /^Unauthorized/);
  assert.deepEqual(socket.heard, [{ closed: 4401 }], "and nothing was run");
});
test("4403: a token that is not good", async () => {
  const socket = await Socket.open(server);
  socket.say({ type: "connection_init", payload: bearer("nonsense") });
  await socket.closesWith(4403, /^Forbidden/);
});

for (const [what, payload] of [
  ["authorization", { authorization: `Bearer ${ann.token}` }],
  ["Authorization", { Authorization: `Bearer ${ann.token}` }],
  ["headers.Authorization", { headers: { Authorization: `Bearer ${ann.token}` } }],
  ["Headers.authorization, beside an authorization that is null", { Headers: { authorization: `bearer ${ann.token}` }, authorization: null }],
  ["authorization, before headers.authorization", { headers: { authorization: "Bearer nonsense" }, authorization: `Bearer ${ann.token}` }],
]) {
  test(`the token of connection_init is read from ${what}`, async () => {
    const socket = await Socket.open(server);
    socket.say({ type: "connection_init", payload });
    await socket.hears({ type: "connection_ack" });
    socket.subscribe("1", "{ viewer { handle } }");
    assert.equal((await socket.whole("1"))[0].payload.data.viewer.handle, "ann");
    await socket.close();
  });
}
for (const [what, payload] of [
  ["headers.authorization with a token that is not good", { headers: { authorization: "Bearer nonsense" } }],
  ["headers.Authorization that is no string", { headers: { Authorization: 7 } }],
]) {
  test(`4403: ${what} is not anonymous`, async () => {
    const socket = await Socket.open(server);
    socket.say({ type: "connection_init", payload });
    await socket.closesWith(4403, /^Forbidden/);
  });
}

const BROKEN = {
  "no JSON": "subscribe",
  "nothing": "",
  "a list": "[]",
  "a string": "\"ping\"",
  "an object without a type": "{}",
  "a type that is no string": { type: 7 },
  "a type that the protocol does not have": { type: "start", id: "1", payload: { query: TYPE } },
  "a type of the server's": { type: "next", id: "1", payload: {} },
  "an acknowledgement": { type: "connection_ack" },
  "an init whose payload is a list": { type: "connection_init", payload: [] },
  "an init whose payload is a string": { type: "connection_init", payload: "x" },
  "a ping whose payload is a number": { type: "ping", payload: 1 },
  "a pong whose payload is a list": { type: "pong", payload: [] },
  "a subscribe without id": { type: "subscribe", payload: { query: TYPE } },
  "a subscribe with an empty id": { type: "subscribe", id: "", payload: { query: TYPE } },
  "a subscribe with a number as id": { type: "subscribe", id: 1, payload: { query: TYPE } },
  "a subscribe without payload": { type: "subscribe", id: "1" },
  "a subscribe whose payload is a string": { type: "subscribe", id: "1", payload: TYPE },
  "a subscribe without a document": { type: "subscribe", id: "1", payload: {} },
  "a subscribe whose query is no string": { type: "subscribe", id: "1", payload: { query: 7 } },
  "a subscribe whose operationName is no string": { type: "subscribe", id: "1", payload: { query: TYPE, operationName: 7 } },
  "a subscribe whose variables are a string": { type: "subscribe", id: "1", payload: { query: TYPE, variables: "{}" } },
  "a subscribe whose extensions are a list": { type: "subscribe", id: "1", payload: { query: TYPE, extensions: [] } },
  "a complete without id": { type: "complete" },
  "a complete with a number as id": { type: "complete", id: 1 },
  "a complete with an empty id": { type: "complete", id: "" },
};
for (const [what, message] of Object.entries(BROKEN)) {
  test(`4400: ${what}`, async () => {
    const socket = await Socket.ready(server);
    socket.say(message);
    await socket.closesWith(4400, /^Invalid message: /);
    assert.deepEqual(socket.heard, [{ closed: 4400 }], "and nothing was answered");
  });
}
test("4400: a binary frame, even if it holds a message", async () => {
  const socket = await Socket.ready(server);
  socket.say(Buffer.from(JSON.stringify({ type: "ping" })));
  await socket.closesWith(4400);
});
test("unknown members of a message are passed over", async () => {
  const socket = await Socket.ready(server);
  socket.say({ type: "subscribe", id: "1", more: 1, payload: { query: TYPE, more: 2 } });
  assert.deepEqual((await socket.whole("1")).map(({ type }) => type), ["next", "complete"]);
  await socket.close();
});

test("ping is answered by pong with its payload, before and after the acknowledgement", async () => {
  const socket = await Socket.open(server);
  for (const payload of [{ a: { b: 1 } }, {}]) {
    socket.say({ type: "ping", payload });
    await socket.hears({ type: "pong", payload });
  }
  socket.say({ type: "connection_init" });
  await socket.hears({ type: "connection_ack" });
  socket.say({ type: "ping" });
  await socket.hears({ type: "pong" });
  socket.say({ type: "ping", payload: { long: "x".repeat(1000) } });
  await socket.hears({ type: "pong" });
  await socket.close();
});
test("a pong that nobody asked for is passed over, before and after the acknowledgement", async () => {
  const socket = await Socket.open(server);
  socket.say({ type: "pong" });
  socket.say({ type: "connection_init" });
  await socket.hears({ type: "connection_ack" });
  socket.say({ type: "pong", payload: { any: "thing" } });
  await socket.quiet();
  await socket.close();
});

test("a query is one next and complete", async () => {
  const socket = await Socket.ready(server, ann.token);
  socket.subscribe("q", "query($h: String!) { user(handle: $h) { handle } }", { variables: { h: "bob" } });
  const [result, end] = await socket.whole("q");
  assert.deepEqual(result.payload.data, { user: { handle: "bob" } });
  assert.deepEqual(end, { id: "q", type: "complete" });
  await socket.close();
});
test("a mutation is one next and complete, and is done once", async () => {
  const socket = await Socket.ready(server, ann.token);
  socket.subscribe("m", "mutation { publishContent(input: { text: \"by socket\" }) { userErrors { code } } }");
  assert.deepEqual((await socket.whole("m")).map(({ type }) => type), ["next", "complete"]);
  const { viewer } = await server.data("{ viewer { contents { nodes { text } } } }", {}, ann.token);
  assert.equal(viewer.contents.nodes.filter(({ text }) => text === "by socket").length, 1);
  await socket.close();
});
test("operationName chooses the operation", async () => {
  const socket = await Socket.ready(server);
  socket.subscribe("1", "query A { a: __typename } query B { b: __typename }", { operationName: "B" });
  assert.deepEqual((await socket.whole("1"))[0].payload.data, { b: "Query" });
  await socket.close();
});
test("errors of execution are in next, and complete follows", async () => {
  const socket = await Socket.ready(server);
  socket.subscribe("1", "{ timeline { nodes { id } } }");
  const [result, end] = await socket.whole("1");
  assert.equal(result.payload.errors[0].extensions.code, "UNAUTHENTICATED");
  assert.ok("data" in result.payload);
  assert.equal(end.type, "complete");
  await socket.close();
});
for (const [what, query, code] of [
  ["no GraphQL", "{", "GRAPHQL_PARSE_FAILED"],
  ["not of the schema", "{ nothing }", "GRAPHQL_VALIDATION_FAILED"],
  ["a subscription of two fields", "subscription { a: newFeed { __typename } b: newFeed { __typename } }", "GRAPHQL_VALIDATION_FAILED"],
  ["a subscription that may not begin", FEED, "UNAUTHENTICATED"],
]) {
  test(`a document that is ${what} is an error message, with a list of errors, and nothing after it`, async () => {
    const socket = await Socket.ready(server);
    socket.subscribe("1", query);
    const { id, type, payload } = await socket.next();
    assert.deepEqual([id, type, Array.isArray(payload)], ["1", "error", true]);
    assert.equal(payload[0].extensions.code, code);
    await socket.quiet();
    socket.subscribe("1", TYPE);
    assert.equal((await socket.whole("1")).length, 2, "the id is free again");
    await socket.close();
  });
}

test("a subscription is as many next as there are events, in their order", async () => {
  const socket = await Socket.ready(server, ann.token);
  await watching(socket, "s");
  for (const text of ["one", "two", "three"]) await server.publish(bob, text);
  for (const text of ["one", "two", "three"]) {
    const message = await socket.next();
    assert.deepEqual([message.id, message.type, feed(message)], ["s", "next", text]);
  }
  await socket.close();
});
test("after the client's complete nothing comes, and the server sends none itself", async () => {
  const [socket, witness] = await Promise.all([Socket.ready(server, ann.token), Socket.ready(server, ann.token)]);
  await watching(socket, "gone");
  await watching(witness, "stays");
  socket.say({ type: "complete", id: "gone" });
  socket.say({ type: "ping" });
  // The witness's beginning was heard here, too; after the pong there is nothing any more.
  let message = await socket.next();
  while (message.type === "next") message = await socket.next();
  assert.deepEqual(message, { type: "pong" });
  await server.publish(bob, "after the end");
  while (feed(await witness.next()) !== "after the end");
  await socket.quiet();
  await Promise.all([socket.close(), witness.close()]);
});
test("an id is free again after the client's complete", async () => {
  const socket = await Socket.ready(server, ann.token);
  await watching(socket, "1");
  socket.say({ type: "complete", id: "1" });
  socket.subscribe("1", TYPE);
  assert.deepEqual((await socket.whole("1")).map(({ type }) => type), ["next", "complete"]);
  await socket.close();
});
test("an id is free again as soon as the server's complete is there", async () => {
  const socket = await Socket.ready(server);
  for (let round = 0; round < 50; round += 1) {
    socket.subscribe("same", TYPE);
    assert.equal((await socket.whole("same")).length, 2);
  }
  await socket.close();
});
test("4409: an id that is in use", async () => {
  const socket = await Socket.ready(server, ann.token);
  await watching(socket, "twice");
  socket.subscribe("twice", TYPE);
  await socket.closesWith(4409, /^Subscriber for twice already exists$/);
});
test("4409: an id twice in one breath", async () => {
  const socket = await Socket.ready(server, ann.token);
  socket.subscribe("twice", FEED);
  socket.subscribe("twice", FEED);
  await socket.closesWith(4409);
});
test("one socket's ids are nothing to another", async () => {
  const [one, two] = await Promise.all([Socket.ready(server, ann.token), Socket.ready(server, ann.token)]);
  await watching(one, "1");
  two.subscribe("1", TYPE);
  assert.equal((await two.whole("1")).length, 2);
  two.say({ type: "complete", id: "1" });
  await two.quiet();
  await server.publish(bob, "the other's complete ends nothing here");
  const message = await one.next();
  assert.deepEqual([message.id, feed(message)], ["1", "the other's complete ends nothing here"]);
  await Promise.all([one.close(), two.close()]);
});
test("a complete of an id that does not run is passed over", async () => {
  const socket = await Socket.ready(server);
  socket.say({ type: "complete", id: "never" });
  socket.say({ type: "complete", id: "never" });
  await socket.quiet();
  await socket.close();
});
test("a client's complete that crosses the server's does no harm, a hundred times", async () => {
  const socket = await Socket.ready(server);
  for (let round = 0; round < 100; round += 1) {
    socket.subscribe(`r${round}`, TYPE);
    socket.say({ type: "complete", id: `r${round}` });
  }
  socket.subscribe("last", TYPE);
  const last = await socket.whole("last");
  assert.deepEqual(last.map(({ type }) => type), ["next", "complete"]);
  await socket.quiet();
  await socket.close();
});
test("operations run side by side, and each message names its own", async () => {
  const socket = await Socket.ready(server, ann.token);
  await watching(socket, "feed");
  const ids = Array.from({ length: 20 }, (_, index) => `q${index}`);
  for (const id of ids) socket.subscribe(id, `{ ${id}: __typename }`);
  const seen = new Map();
  while (seen.size < ids.length || [...seen.values()].some((types) => types.length < 2)) {
    const message = await socket.next();
    if (message.id === "feed") continue;
    if (message.type === "next") assert.deepEqual(message.payload.data, { [message.id]: "Query" });
    seen.set(message.id, [...(seen.get(message.id) ?? []), message.type]);
  }
  for (const types of seen.values()) assert.deepEqual(types, ["next", "complete"]);
  await socket.close();
});
test("the client's close is answered with its own code", async () => {
  for (const code of [1000, 3000, 4999]) {
    const socket = await Socket.ready(server, ann.token);
    socket.subscribe("1", FEED);
    assert.equal((await socket.close(code)).code, code);
  }
});
