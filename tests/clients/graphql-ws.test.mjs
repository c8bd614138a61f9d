// The graphql-ws client, as Apollo, urql and Relay use it, unmodified, against the binary.
import assert from "node:assert/strict";
import { test } from "node:test";
import { CloseCode, createClient } from "graphql-ws";
import WebSocket from "ws";
import { start, until, within } from "./server.mjs";

const FEED = "subscription { newFeed { ... on EntryAdded { timelineEdge { node { text } } } } }";
const server = await start({ "auth.revocation_s": 0 });
const [ann, bob] = await Promise.all(["ann", "bob"].map((handle) => server.register(handle)));
await server.data("mutation($id: ID!) { followUser(input: { userId: $id }) { userErrors { code } } }", { id: bob.id }, ann.token);

function client(token, options = {}) {
  const connectionParams = token === undefined ? undefined : { authorization: `Bearer ${token}` };
  return createClient({ url: server.ws, webSocketImpl: WebSocket, connectionParams, retryAttempts: 0, ...options });
}

/** All results of an operation that ends. */
function results(of, payload) {
  const heard = [];
  return within("the end of an operation", new Promise((resolve, reject) => {
    of.subscribe(payload, { next: (result) => heard.push(result), error: reject, complete: () => { resolve(heard); } });
  }));
}

/** A subscription that runs, and the texts that it hears; `mark` tells that it runs. */
async function watch(of, mark) {
  const texts = [];
  let failed;
  const sink = {
    next: ({ data }) => texts.push(data.newFeed.timelineEdge?.node.text),
    error: (error) => { failed = error; },
    complete: () => texts.push("complete"),
  };
  const leave = of.subscribe({ query: FEED }, sink);
  await until("the subscription runs", async () => {
    assert.equal(failed, undefined);
    if (!texts.includes(mark)) await server.publish(bob, mark);
    return texts.includes(mark);
  });
  return { texts, leave };
}

test("graphql-ws runs a query", async () => {
  const it = client();
  const [{ data }] = await results(it, { query: "query($h: String!) { user(handle: $h) { name } }", variables: { h: "bob" } });
  assert.deepEqual(data, { user: { name: "bob" } });
  await it.dispose();
});
test("graphql-ws runs a mutation", async () => {
  const it = client(ann.token);
  const [{ data }] = await results(it, { query: "mutation { publishContent(input: { text: \"ws\" }) { userErrors { code } } }" });
  assert.deepEqual(data, { publishContent: { userErrors: [] } });
  await it.dispose();
});
test("graphql-ws is told the price", async () => {
  const it = client(ann.token);
  const [{ extensions }] = await results(it, { query: "{ viewer { id } }" });
  assert.equal(extensions.cost.requested, 42);
  await it.dispose();
});
test("of documents with one name and one layout each is answered as it asks", async () => {
  const layouts = ["id text: kind", "id text", "kind  text", "id: text text: id", "text"];
  const expected = [["id", "text"], ["id", "text"], ["kind", "text"], ["id", "text"], ["text"]];
  const heard = layouts.map(() => []);
  const it = client(ann.token);
  const leave = layouts.map((fields, index) => {
    const query = `subscription Live { newFeed { ... on EntryAdded { timelineEdge { node { ${fields} } } } } }`;
    return it.subscribe({ query, operationName: "Live" }, {
      next: ({ data }) => heard[index].push(data.newFeed.timelineEdge.node), error: assert.fail, complete: () => {},
    });
  });
  await until("all have heard", async () => {
    await server.publish(bob, "the words");
    return heard.every((nodes) => nodes.length > 0);
  });
  const nodes = heard.map((of) => of.at(-1));
  assert.deepEqual(nodes.map((node) => Object.keys(node)), expected);
  const isId = /^C_/;
  const answers = nodes.map((node) => Object.values(node).map((value) => (isId.test(value) ? "an id" : value)));
  assert.deepEqual(answers, [["an id", "POST"], ["an id", "the words"], ["POST", "the words"], ["the words", "an id"], ["the words"]]);
  leave.forEach((end) => { end(); });
  await it.dispose();
});
test("graphql-ws hears each event once and in order, and nothing after it has left", async () => {
  const it = client(ann.token);
  const { texts, leave } = await watch(it, "ordered?");
  const those = ["a", "b", "c"];
  for (const text of those) await server.publish(bob, text);
  await until("c has come", () => texts.includes("c"));
  // What another test has published just before may be heard here, too.
  assert.deepEqual(texts.filter((text) => those.includes(text)), those);
  const other = await watch(it, "the other runs");
  leave();
  await server.publish(bob, "after leaving");
  await until("the other has heard it", () => other.texts.includes("after leaving"));
  assert.ok(!texts.includes("after leaving"));
  await it.dispose();
});
test("graphql-ws iterates", async () => {
  const it = client();
  const heard = [];
  for await (const { data } of it.iterate({ query: "{ a: __typename }" })) heard.push(data);
  assert.deepEqual(heard, [{ a: "Query" }]);
  await it.dispose();
});
test("graphql-ws gets the errors of a document that cannot run, as a list", async () => {
  const it = client();
  await assert.rejects(results(it, { query: "{ nothing }" }), (errors) => {
    assert.equal(errors[0].extensions.code, "GRAPHQL_VALIDATION_FAILED");
    return true;
  });
  assert.equal((await results(it, { query: "{ __typename }" })).length, 1, "the socket goes on");
  await it.dispose();
});
test("graphql-ws runs fifty operations at a time on one socket, 30 side by side", async () => {
  let sockets = 0;
  const it = client(ann.token, { on: { connected: () => { sockets += 1; } }, lazy: false });
  for (const size of [20, 30]) {
    const all = await Promise.all(Array.from({ length: size }, (_, index) => results(it, { query: `{ q${index}: __typename }` })));
    assert.deepEqual(all.map(([{ data }]) => Object.keys(data)[0]), all.map((_, index) => `q${index}`));
  }
  assert.equal(sockets, 1);
  await it.dispose();
});
test("graphql-ws is closed with 4403 for a token that is not good, and tries no more", async () => {
  const it = client("nonsense", { shouldRetry: () => false });
  await assert.rejects(results(it, { query: "{ __typename }" }), ({ code }) => code === CloseCode.Forbidden);
});
test("graphql-ws keeps alive with its own pings, and is answered", async () => {
  let pongs = 0;
  const it = client(undefined, { lazy: false, keepAlive: 50, on: { pong: (received) => { if (received) pongs += 1; } } });
  await until("three pongs", () => pongs >= 3);
  await it.dispose();
});
test("graphql-ws connects again when the connection is cut, and the subscription goes on", async () => {
  let connections = 0;
  const it = client(ann.token, {
    retryAttempts: Number.POSITIVE_INFINITY, retryWait: async () => {}, shouldRetry: () => true, on: { connected: () => { connections += 1; } },
  });
  const { texts } = await watch(it, "before the cut");
  it.terminate();
  await until("it hears again", async () => {
    await server.publish(bob, "after the cut");
    return texts.includes("after the cut");
  });
  assert.equal(connections, 2);
  await it.dispose();
});
test("graphql-ws goes on with a new token after its session was ended", async () => {
  const carl = await server.register("carl");
  await server.data("mutation($id: ID!) { followUser(input: { userId: $id }) { userErrors { code } } }", { id: bob.id }, carl.token);
  const query = "mutation { signIn(input: { handle: \"carl\", password: \"correct horse battery\" }) { token } }";
  const { signIn } = await server.data(query);
  const tokens = [signIn.token, carl.token];
  const closed = [];
  const it = client(undefined, {
    connectionParams: () => ({ authorization: `Bearer ${tokens.length > 1 ? tokens.shift() : tokens[0]}` }),
    retryAttempts: Number.POSITIVE_INFINITY, retryWait: async () => {}, shouldRetry: () => true, on: { closed: ({ code }) => closed.push(code) },
  });
  const { texts } = await watch(it, "with the first");
  await server.data("mutation { signOut { endedSessionCount } }", {}, signIn.token);
  await until("it hears with the second", async () => {
    await server.publish(bob, "with the second");
    return texts.includes("with the second");
  });
  assert.equal(closed[0], 4403);
  await it.dispose();
});
test("graphql-ws's orderly end is answered with 1000", async () => {
  let close;
  const it = client(undefined, { lazy: false, on: { closed: (event) => { close = event; } } });
  await results(it, { query: "{ __typename }" });
  await it.dispose();
  await until("it is closed", () => close !== undefined);
  assert.deepEqual([close.code, close.wasClean], [1000, true]);
});
test("a server that stops completes what runs and closes with 1001", async () => {
  const other = await start();
  const dora = await other.register("dora");
  const heard = [];
  // A lazy client would close by itself when nothing runs any more, and might be first.
  const it = client(dora.token, { url: other.ws, lazy: false, onNonLazyError: () => {}, on: { closed: ({ code }) => heard.push(code) } });
  it.subscribe({ query: FEED }, { next: () => {}, error: () => heard.push("error"), complete: () => heard.push("complete") });
  await results(it, { query: "{ __typename }" });
  await other.stop();
  await until("it has ended", () => heard.length === 2);
  assert.deepEqual(heard, ["complete", 1001]);
});
