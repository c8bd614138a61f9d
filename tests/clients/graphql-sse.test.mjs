// Subscriptions over server-sent events: the graphql-sse client in both of its modes, and the rules of its protocol (PROTOCOL.md of
// github.com/enisdenjo/graphql-sse) with requests of our own.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createClient } from "graphql-sse";
import { bearer, start, until, within } from "./server.mjs";

const FEED = "subscription { newFeed { ... on EntryAdded { timelineEdge { node { text } } } } }";
const TOKEN = "x-graphql-event-stream-token";
const server = await start({ "sse.keep_alive_ms": 200, "sse.max_operations": 3 });
const [ann, bob] = await Promise.all(["ann", "bob"].map((handle) => server.register(handle)));
await server.data("mutation($id: ID!) { followUser(input: { userId: $id }) { userErrors { code } } }", { id: bob.id }, ann.token);

/** All results of an operation that ends. */
function results(of, payload) {
  const heard = [];
  return within("the end of an operation", new Promise((resolve, reject) => {
    of.subscribe(payload, { next: (result) => heard.push(result), error: reject, complete: () => { resolve(heard); } });
  }));
}

/** A subscription that runs, and what it hears. */
async function watch(of, mark) {
  const texts = [];
  let failed;
  const leave = of.subscribe({ query: FEED }, {
    next: ({ data }) => texts.push(data.newFeed.timelineEdge?.node.text),
    error: (error) => { failed = error; },
    complete: () => texts.push("complete"),
  });
  await until("the subscription runs", async () => {
    assert.equal(failed, undefined);
    if (!texts.includes(mark)) await server.publish(bob, mark);
    return texts.includes(mark);
  });
  return { texts, leave };
}

/** The events of a stream as they come; comments are { comment: true }. */
class Stream {
  static async open(url, init = {}) {
    const leaving = new AbortController();
    const response = await fetch(url, { ...init, headers: { accept: "text/event-stream", ...init.headers }, signal: leaving.signal });
    return new Stream(response, leaving);
  }

  static post(body, headers = {}) {
    return Stream.open(server.url, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) });
  }

  constructor(response, leaving) {
    Object.assign(this, { response, leaving, status: response.status, reader: response.body.getReader(), text: "" });
  }

  /** The next event or comment; null at the end. */
  async next() {
    while (!this.text.includes("\n\n")) {
      const { done, value } = await within("an event", this.reader.read());
      if (done) return null;
      this.text += Buffer.from(value).toString();
    }
    const end = this.text.indexOf("\n\n");
    const lines = this.text.slice(0, end).split("\n");
    this.text = this.text.slice(end + 2);
    if (lines[0].startsWith(":")) return { comment: true };
    assert.deepEqual(lines.map((line) => line.split(":")[0]), ["event", "data"], "an event has a name and one line of data");
    const [name, data] = lines.map((line) => line.slice(line.indexOf(":") + 1).trim());
    return { name, data: data === "" ? undefined : JSON.parse(data) };
  }

  async event() {
    for (;;) {
      const event = await this.next();
      if (event === null || event.comment === undefined) return event;
    }
  }

  leave() { this.leaving.abort(); }
}

async function reserve(token) {
  const response = await fetch(server.url, { method: "PUT", headers: token === undefined ? {} : bearer(token) });
  return { status: response.status, token: await response.text() };
}

/** Status of an operation on a reserved stream; its answer has no body when it is accepted. */
async function sent(token, operationId, query) {
  const response = await fetch(server.url, {
    method: "POST",
    headers: { "content-type": "application/json", [TOKEN]: token, ...bearer(ann.token) },
    body: JSON.stringify({ query, extensions: operationId === undefined ? {} : { operationId } }),
  });
  return { status: response.status, text: await response.text() };
}

for (const singleConnection of [false, true]) {
  const mode = singleConnection ? "single connection" : "distinct connections";
  const client = (token = ann.token) =>
    createClient({ url: server.url, singleConnection, retryAttempts: 0, headers: token === null ? {} : bearer(token) });

  test(`graphql-sse (${mode}) runs queries and mutations`, async () => {
    const it = client();
    const [{ data }] = await results(it, { query: "query($h: String!) { user(handle: $h) { name } }", variables: { h: "bob" } });
    assert.deepEqual(data, { user: { name: "bob" } });
    const written = await results(it, { query: "mutation { publishContent(input: { text: \"sse\" }) { userErrors { code } } }" });
    assert.deepEqual(written.map((result) => result.data), [{ publishContent: { userErrors: [] } }]);
    it.dispose();
  });
  test(`graphql-sse (${mode}) hears each event once and in order, and nothing after it has left`, async () => {
    const it = client();
    const { texts, leave } = await watch(it, `${mode} runs`);
    const those = ["a", "b", "c"];
    for (const text of those) await server.publish(bob, text);
    await until("c has come", () => texts.includes("c"));
    // What another test has published just before may be heard here, too.
    assert.deepEqual(texts.filter((text) => those.includes(text)), those);
    const other = await watch(it, `${mode} beside`);
    leave();
    await server.publish(bob, `${mode} after leaving`);
    await until("the other has heard it", () => other.texts.includes(`${mode} after leaving`));
    assert.ok(!texts.includes(`${mode} after leaving`));
    it.dispose();
  });
  test(`graphql-sse (${mode}) gets errors of execution and of documents as results`, async () => {
    const it = client(null);
    for (const [query, code] of [["{ timeline { nodes { id } } }", "UNAUTHENTICATED"], ["{ nothing }", "GRAPHQL_VALIDATION_FAILED"]]) {
      const code_of = (errors) => errors[0].extensions.code;
      const told = await results(it, { query }).then(([{ errors }]) => code_of(errors), (error) => {
        // The single connection's operations are requests: a document that cannot run is answered there.
        assert.ok(singleConnection, String(error));
        return code;
      });
      assert.equal(told, code);
    }
    it.dispose();
  });
  test(`graphql-sse (${mode}) runs operations side by side`, async () => {
    const it = client();
    const all = await Promise.all([0, 1, 2].map((index) => results(it, { query: `{ q${index}: __typename }` })));
    assert.deepEqual(all.map(([{ data }]) => data), [{ q0: "Query" }, { q1: "Query" }, { q2: "Query" }]);
    it.dispose();
  });
  test(`graphql-sse (${mode}) is refused with a token that is not good`, async () => {
    const it = client("nonsense");
    await assert.rejects(results(it, { query: "{ __typename }" }), /401|Unauthorized/i);
    it.dispose();
  });
}

test("a stream of one operation: its headers, a first comment, next, complete, the end", async () => {
  const stream = await Stream.post({ query: "{ __typename }" });
  assert.equal(stream.status, 200);
  assert.match(stream.response.headers.get("content-type"), /^text\/event-stream/);
  assert.equal(stream.response.headers.get("cache-control"), "no-store");
  assert.equal(stream.response.headers.get("x-accel-buffering"), "no");
  assert.deepEqual(await stream.next(), { comment: true });
  const { name, data } = await stream.next();
  assert.deepEqual([name, data.data], ["next", { __typename: "Query" }]);
  assert.deepEqual(await stream.next(), { name: "complete", data: undefined });
  assert.equal(await stream.next(), null);
});
test("a stream by GET, as EventSource asks", async () => {
  const stream = await Stream.open(`${server.url}?query=${encodeURIComponent("{ __typename }")}`);
  assert.deepEqual((await stream.event()).data.data, { __typename: "Query" });
  assert.deepEqual(await stream.event(), { name: "complete", data: undefined });
});
test("a mutation by GET is told in the stream, and not done", async () => {
  const query = "mutation { publishContent(input: { text: \"by GET\" }) { userErrors { code } } }";
  const stream = await Stream.open(`${server.url}?query=${encodeURIComponent(query)}`, { headers: bearer(ann.token) });
  assert.equal((await stream.event()).data.errors[0].extensions.code, "BAD_USER_INPUT");
  const { viewer } = await server.data("{ viewer { contents { nodes { text } } } }", {}, ann.token);
  assert.ok(viewer.contents.nodes.every(({ text }) => text !== "by GET"));
});
test("a document that cannot run is a next with errors, then complete", async () => {
  const stream = await Stream.post({ query: "{ nothing }" });
  assert.equal(stream.status, 200);
  const { name, data } = await stream.event();
  assert.deepEqual([name, data.errors[0].extensions.code, "data" in data], ["next", "GRAPHQL_VALIDATION_FAILED", false]);
  assert.deepEqual(await stream.event(), { name: "complete", data: undefined });
  assert.equal(await stream.event(), null);
});
test("a silent stream is kept open by comments", async () => {
  const stream = await Stream.post({ query: FEED }, bearer(ann.token));
  for (let round = 0; round < 4; round += 1) assert.deepEqual(await stream.next(), { comment: true });
  stream.leave();
});
test("a stream ends with the session that it was opened in, and says so", async () => {
  const { signIn } = await server.data("mutation { signIn(input: { handle: \"ann\", password: \"correct horse battery\" }) { token } }");
  const stream = await Stream.post({ query: FEED }, bearer(signIn.token));
  assert.deepEqual(await stream.next(), { comment: true });
  await server.data("mutation { signOut { endedSessionCount } }", {}, signIn.token);
  assert.equal((await stream.event()).data.errors[0].extensions.code, "UNAUTHENTICATED");
  assert.deepEqual(await stream.event(), { name: "complete", data: undefined });
});

test("201: a stream is reserved by PUT, and its token is text", async () => {
  const { status, token } = await reserve();
  assert.equal(status, 201);
  assert.match(token, /^[0-9a-f]{64}$/);
});
test("404: a token that nobody has, to open, to operate, to cancel", async () => {
  const opened = await Stream.open(server.url, { headers: { [TOKEN]: "nobody's" } });
  assert.equal(opened.status, 404);
  assert.equal((await sent("nobody's", "1", "{ __typename }")).status, 404);
  assert.equal((await fetch(`${server.url}?operationId=1`, { method: "DELETE", headers: { [TOKEN]: "nobody's" } })).status, 404);
});
test("404: a stream that was not opened in time is gone", async () => {
  const hasty = await start({ "sse.reserved_ms": 500 });
  const token = await (await fetch(hasty.url, { method: "PUT" })).text();
  const headers = { "content-type": "application/json", [TOKEN]: token };
  await until("it is gone", async () => (await fetch(hasty.url, { method: "POST", headers, body: "{\"query\":\"{ __typename }\"}" })).status === 404);
});
test("a stream that was cut goes on from its token: what was missed first, in order, and nothing twice", async () => {
  const carl = await server.register("carl");
  await server.data("mutation($id: ID!) { followUser(input: { userId: $id }) { userErrors { code } } }", { id: bob.id }, carl.token);
  const { timeline } = await server.data("{ timeline(first: 1) { resumeToken } }", {}, carl.token);
  const query = "subscription($after: String) { newFeed(after: $after) { __typename ... on EntryAdded { resumeToken timelineEdge { node { text } } } } }";
  const open = (after) => Stream.post({ query, variables: { after } }, bearer(carl.token));
  const heard = [];
  let after = timeline.resumeToken;
  for (const [missed, live] of [[["a", "b"], "c"], [["d"], "e"]]) {
    for (const text of missed) await server.publish(bob, text);
    const stream = await open(after);
    for (const wanted of [...missed, live]) {
      if (wanted === live) await server.publish(bob, live);
      const { data } = await stream.event();
      assert.equal(data.data.newFeed.__typename, "EntryAdded");
      heard.push(data.data.newFeed.timelineEdge.node.text);
      after = data.data.newFeed.resumeToken;
    }
    stream.leave();
  }
  assert.deepEqual(heard, ["a", "b", "c", "d", "e"]);
});
test("409: a stream is opened once", async () => {
  const { token } = await reserve(ann.token);
  const stream = await Stream.open(server.url, { headers: { [TOKEN]: token } });
  assert.equal(stream.status, 200);
  assert.equal((await Stream.open(server.url, { headers: { [TOKEN]: token } })).status, 409);
  stream.leave();
});
test("the token may be in the URL, as EventSource needs it", async () => {
  const { token } = await reserve(ann.token);
  const stream = await Stream.open(`${server.url}?token=${token}`);
  assert.equal(stream.status, 200);
  stream.leave();
});
test("202: results come on the stream, with the operation's id", async () => {
  const { token } = await reserve(ann.token);
  const stream = await Stream.open(server.url, { headers: { [TOKEN]: token } });
  assert.deepEqual(await sent(token, "q", "{ __typename }"), { status: 202, text: "" });
  const { name, data } = await stream.event();
  assert.deepEqual([name, data.id, data.payload.data], ["next", "q", { __typename: "Query" }]);
  assert.deepEqual(await stream.event(), { name: "complete", data: { id: "q" } });
  stream.leave();
});
test("400: an operation without an id; 409: with one in use; 429: one too many; DELETE ends one", async () => {
  const { token } = await reserve(ann.token);
  const stream = await Stream.open(server.url, { headers: { [TOKEN]: token } });
  assert.equal((await sent(token, undefined, FEED)).status, 400);
  for (const id of ["1", "2", "3"]) assert.equal((await sent(token, id, FEED)).status, 202);
  assert.equal((await sent(token, "1", FEED)).status, 409);
  assert.equal((await sent(token, "4", FEED)).status, 429);
  const cancel = (query) => fetch(`${server.url}${query}`, { method: "DELETE", headers: { [TOKEN]: token } });
  assert.equal((await cancel("")).status, 400);
  assert.equal((await cancel("?operationId=1")).status, 200);
  assert.equal((await cancel("?operationId=1")).status, 200, "what has ended stays so");
  assert.equal((await sent(token, "1", "{ __typename }")).status, 202, "the id is free again");
  assert.equal((await stream.event()).data.id, "1");
  stream.leave();
});
test("a client that leaves its stream takes the operations with it", async () => {
  const { token } = await reserve(ann.token);
  const stream = await Stream.open(server.url, { headers: { [TOKEN]: token } });
  await sent(token, "1", FEED);
  stream.leave();
  await until("the stream is gone", async () => (await sent(token, "2", "{ __typename }")).status === 404);
});
test("503: no room for another stream", async () => {
  const small = await start({ "sse.max_streams": 1 });
  const first = await Stream.open(`${small.url}?query=${encodeURIComponent(FEED)}`, { headers: bearer((await small.register("ann")).token) });
  assert.deepEqual(await first.next(), { comment: true });
  const second = await Stream.open(`${small.url}?query=${encodeURIComponent("{ __typename }")}`);
  assert.equal(second.status, 503);
  assert.ok(Number(second.response.headers.get("retry-after")) > 0);
  first.leave();
});
test("a server that stops ends a stream without complete: the client comes again", async () => {
  const other = await start();
  const stream = await Stream.open(`${other.url}?query=${encodeURIComponent(FEED)}`, { headers: bearer((await other.register("ann")).token) });
  assert.deepEqual(await stream.next(), { comment: true });
  await other.stop();
  assert.equal(await stream.event(), null);
});
