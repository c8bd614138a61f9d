// The deepest documents that the gate lets through, along every cycle of the schema's types, by every way: answered to the last level, by a node
// that lives on. Resolvers nest as deep as documents do, and a stack that overflows takes the whole process with it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createClient } from "graphql-sse";
import { Socket } from "./socket.mjs";
import { bearer, start, until } from "./server.mjs";

/** What `graphql.max_depth` is unless configured. */
const DEPTH = 15;
const server = await start({ "graphql.max_cost": 1_000_000, "rate_limit.viewer_points": 10_000_000, "rate_limit.anonymous_points": 10_000_000 });
const [ann, bob] = await Promise.all(["ann", "bob"].map((handle) => server.register(handle)));

const PUBLISH = "mutation($input: PublishContentInput!) { publishContent(input: $input) { timelineEdge { node { id } } } }";
const publish = async (input, by = bob) => (await server.data(PUBLISH, { input }, by.token)).publishContent.timelineEdge.node.id;
const follow = (who, whom) => server.data("mutation($id: ID!) { followUser(input: { userId: $id }) { userErrors { code } } }", { id: whom.id }, who.token);

await Promise.all([follow(ann, bob), follow(bob, ann)]);
const thread = [await publish({ text: "0" })];
while (thread.length < DEPTH) thread.push(await publish({ text: `${thread.length}`, replyTo: thread.at(-1) }));
const [first, last] = [thread[0], thread.at(-1)];
for (const field of ["likeContent", "bookmarkContent"]) {
  await server.data(`mutation($id: ID!) { ${field}(input: { contentId: $id }) { userErrors { code } } }`, { id: first }, ann.token);
}

/** The fields of `cycle` over and over from `root` on, as many as may nest, down to an id; the same with each within a fragment; their names. */
function nested(root, cycle, depth = DEPTH) {
  const fields = Array.from({ length: depth - 2 }, (_, level) => cycle[level % cycle.length]);
  while (/\(|edges/.test(fields.at(-1))) fields.pop(); // Connections and edges have no id.
  const selection = [root, ...fields, "id"].join(" { ") + " }".repeat(fields.length + 1);
  const fragments = [root, ...fields, "id"].join(" { ... { ") + " } }".repeat(fields.length + 1);
  return { selection, fragments, names: fields.map((field) => field.replace(/\(.*/, "")) };
}

/** What stands at the end of `names`; the first entry of each list is followed. */
function at(value, names) {
  return names.reduce((held, name) => {
    const next = held?.[name];
    return Array.isArray(next) ? next[0] : next;
  }, value);
}

const CYCLES = {
  "what it answers": [`content(id: "${last}")`, ["inReplyTo"]],
  "its replies": [`content(id: "${first}")`, ["replies(first: 1)", "nodes"]],
  "its replies, by edges": [`content(id: "${first}")`, ["replies(first: 1)", "edges", "node"]],
  "author and contents": [`content(id: "${last}")`, ["author", "contents(first: 1)", "nodes"]],
  "followers and followed": ["user(handle: \"ann\")", ["followers(first: 1)", "nodes", "following(first: 1)", "nodes"]],
  "likers and bookmarks": [`content(id: "${first}")`, ["likers(first: 1)", "nodes", "bookmarks(first: 1)", "nodes"]],
  "the thread": [`content(id: "${last}")`, ["ancestors", "author", "contents(first: 1)", "nodes", "inReplyTo"]],
};

for (const [what, [root, cycle]] of Object.entries(CYCLES)) {
  const { selection, fragments, names } = nested(root, cycle);
  const field = root.replace(/\(.*/, "");
  const isThere = (data) => { assert.match(at(data[field], names)?.id ?? "nothing", /^[CU]_/, JSON.stringify(data)); };
  const spread = `query { ...all } fragment all on Query { ${fragments} }`;
  test(`${what}, ${DEPTH} deep, is answered over HTTP, and within fragments`, async () => {
    isThere(await server.data(`{ ${selection} }`, {}, ann.token));
    isThere(await server.data(spread, {}, ann.token));
  });
  test(`${what}, ${DEPTH} deep, is answered over a WebSocket and a stream`, async () => {
    const socket = await Socket.ready(server, ann.token);
    socket.subscribe("deep", `{ ${selection} }`);
    const [{ payload }] = await socket.whole("deep");
    isThere(payload.data);
    await socket.close();
    const events = createClient({ url: server.url, headers: bearer(ann.token), retryAttempts: 0 });
    for await (const { data } of events.iterate({ query: spread })) isThere(data);
  });
}

test("one field deeper is refused", async () => {
  const { selection } = nested(...CYCLES["what it answers"], DEPTH + 1);
  const { json } = await server.post({ query: `{ ${selection} }` }, bearer(ann.token));
  assert.equal(json.errors[0].extensions.code, "QUERY_TOO_COMPLEX");
  assert.match(json.errors[0].message, /15/);
});

test("the deepest live entry comes by both ways", async () => {
  const { selection, names } = nested("node", ["inReplyTo"], DEPTH - 2);
  const query = `subscription { newFeed { ... on EntryAdded { timelineEdge { ${selection} } } } }`;
  const [heard, streamed] = [[], []];
  const socket = await Socket.ready(server, ann.token);
  socket.subscribe("live", query);
  const leave = createClient({ url: server.url, headers: bearer(ann.token), retryAttempts: 0 }).subscribe({ query }, {
    next: ({ data }) => streamed.push(data), error: (error) => streamed.push(error), complete: () => {},
  });
  const isWhole = (data) => at(data?.newFeed?.timelineEdge?.node, names)?.id !== undefined;
  await until("both have heard", async () => {
    await publish({ text: "again", replyTo: last });
    while (socket.heard.length > 0) heard.push(socket.heard.shift().payload?.data);
    return heard.some(isWhole) && streamed.some(isWhole);
  });
  leave();
  await socket.close();
});

test("the node has lived through all of it", async () => {
  assert.deepEqual(await server.data("{ __typename }"), { __typename: "Query" });
  assert.deepEqual(server.log.filter((line) => line.includes("panic")), []);
});
