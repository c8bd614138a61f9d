// The walk of refusals: every limit of the gate and every code of docs/errors.md, over the four ways to ask (POST, GET, WebSocket,
// server-sent events). Each has to be refused with the same code wherever it is asked, with a request id, and with no data unless it ran.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { bearer, start } from "./server.mjs";
import { Socket } from "./socket.mjs";

const DOCUMENTED = readFileSync(new URL("../../docs/errors.md", import.meta.url), "utf8").split("## `UserErrorCode`")[0].matchAll(/^\| `([A-Z_]+)`/gm);
const walked = new Set();

/** Ways to ask: each gives the first error, the status if there is one, and whether there was data. */
const WAYS = {
  POST: async (server, body, token) => {
    const { status, json } = await server.post(body, { accept: "application/graphql-response+json", ...token });
    return { status, error: json.errors?.[0], data: json.data };
  },
  GET: async (server, body, token) => {
    const url = new URL(server.url);
    for (const [name, value] of Object.entries(body)) url.searchParams.set(name, typeof value === "string" ? value : JSON.stringify(value));
    const response = await fetch(url, { headers: { accept: "application/graphql-response+json", ...token } });
    const json = await response.json();
    return { status: response.status, error: json.errors?.[0], data: json.data };
  },
  SSE: async (server, body, token) => {
    const response = await fetch(server.url, {
      method: "POST", headers: { "content-type": "application/json", accept: "text/event-stream", ...token }, body: JSON.stringify(body),
    });
    const next = (await response.text()).split("\n\n").find((event) => event.startsWith("event: next"));
    const json = JSON.parse(next.split("\ndata: ")[1]);
    return { status: response.status, error: json.errors?.[0], data: json.data };
  },
  WebSocket: async (server, body) => {
    const socket = await Socket.ready(server);
    socket.say({ id: "1", type: "subscribe", payload: body });
    const { type, payload } = await socket.next();
    await socket.close();
    return type === "error" ? { error: payload[0] } : { error: payload.errors?.[0], data: payload.data };
  },
};

/** One check for each way. `ran`: it is refused in execution. `streamed`: the status where the answer is a stream. */
function refused(server, what, code, body, { status = 400, streamed = 200, ran = false } = {}) {
  walked.add(code);
  for (const [way, ask] of Object.entries(WAYS)) {
    test(`${way}: ${what} is ${code}`, async () => {
      const told = await ask(await server, typeof body === "string" ? { query: body } : body, {});
      assert.equal(told.error?.extensions.code, code, JSON.stringify(told));
      assert.ok(told.error.message.length > 10 && told.error.extensions.requestId.length > 0, JSON.stringify(told));
      if (!ran) assert.equal(told.data, undefined);
      const expected = ran ? 200 : way === "SSE" ? streamed : status;
      if (told.status !== undefined) assert.equal(told.status, expected);
    });
  }
}

const chain = (length) => Array.from({ length }, (_, n) => `fragment f${n} on Query { ...f${n + 1} }`).join(" ");
const tight = start({
  "graphql.max_bytes": 3000, "graphql.max_tokens": 300, "graphql.max_nesting": 10, "graphql.max_fields": 60, "graphql.max_aliases": 5,
  "graphql.max_depth": 5, "graphql.max_operations": 2, "graphql.max_fragments": 3, "graphql.max_directives": 2,
  "graphql.max_variable_bytes": 300, "graphql.max_variable_nesting": 3, "graphql.max_cost": 400,
});
const usual = start();
const silent = start({ "graphql.introspection": false, "persisted.automatic": false });
const listed = path.join(mkdtempSync(path.join(tmpdir(), "tidefeed-manifest-")), "manifest.json");
writeFileSync(listed, JSON.stringify({ known: "{ __typename }" }));
const trusting = start({ "persisted.manifest": listed, "persisted.required": true });
const poor = start({ "graphql.max_cost": 100, "rate_limit.anonymous_points": 100, "rate_limit.anonymous_points_per_s": 1 });

const TOO = "QUERY_TOO_COMPLEX";
refused(tight, "a document of too many bytes", TOO, `{ __typename } #${"x".repeat(3000)}`);
refused(tight, "a document of too many tokens", TOO, `{ ${"a ".repeat(310)}}`);
refused(tight, "a name of too many letters", TOO, `{ ${"n".repeat(300)} }`);
refused(tight, "a document with too much nesting", TOO, `{ a(b: ${"[".repeat(12)}${"]".repeat(12)}) }`);
refused(tight, "a document of too many fields", TOO, `{ ${"__typename ".repeat(61)}}`);
refused(tight, "a document of too many fields in its fragments", TOO, `{ ${"...f ".repeat(20)}} fragment f on Query { ${"__typename ".repeat(4)}}`);
refused(tight, "a document of too many aliases", TOO, `{ ${["a", "b", "c", "d", "e", "f"].map((name) => `${name}: __typename`).join(" ")} }`);
refused(tight, "a document that is too deep", TOO, "{ viewer { contents { nodes { author { contents { pageInfo { hasNextPage } } } } } } }");
refused(tight, "a document of too many operations", TOO, { query: "query A { __typename } query B { __typename } query C { __typename }", operationName: "A" });
refused(tight, "a document of too many fragments", TOO, `{ ...a ...b ...c ...d } ${["a", "b", "c", "d"].map((name) => `fragment ${name} on Query { __typename }`).join(" ")}`);
refused(tight, "a field of too many directives", TOO, "{ __typename @skip(if: false) @skip(if: false) @skip(if: false) }");
refused(tight, "variables of too many bytes", TOO, { query: "query($h: String!) { user(handle: $h) { id } }", variables: { h: "x".repeat(301) } });
refused(tight, "variables that nest too deeply", TOO, { query: "query($h: String!) { user(handle: $h) { id } }", variables: { h: [[[["x"]]]] } });
refused(tight, "an operation of too many points", TOO, "{ user(handle: \"bob\") { contents(first: 100) { a: nodes { author { id } } b: nodes { author { id } } } } }");
refused(usual, "a document of too many levels", TOO, `{ ...f0 } ${chain(40)} fragment f40 on Query { __typename }`);
refused(usual, "a description of types within types within types", TOO, "{ __schema { types { fields { type { fields { type { fields { name } } } } } } } }");
refused(usual, "a bomb of fragments", TOO, `{ ...f0 } ${Array.from({ length: 20 }, (_, n) => `fragment f${n} on Query { ...f${n + 1} ...f${n + 1} }`).join(" ")} fragment f20 on Query { __typename }`);

const outspoken = start({ "graphql.max_answer_bytes": 65_536 });
refused(outspoken, "an answer of too many bytes", "ANSWER_TOO_LARGE", "{ __schema { types { name description fields { name a: description b: description c: description args { name description } } } } }", { ran: true });

const PARSE = "GRAPHQL_PARSE_FAILED";
refused(usual, "an empty document", PARSE, "");
refused(usual, "half a document", PARSE, "{");
refused(usual, "a string without end", PARSE, "{ user(handle: \"bob) { id } }");
const INVALID = "GRAPHQL_VALIDATION_FAILED";
refused(usual, "a field that is not there", INVALID, "{ nothing }");
refused(usual, "an argument that is not there", INVALID, "{ viewer(a: 1) { id } }");
refused(usual, "a literal of another type", INVALID, "{ user(handle: 7) { id } }");
refused(usual, "a fragment that contains itself", INVALID, "{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }");
refused(usual, "a variable of a type that is not there", INVALID, "query($x: [Missing] = 1) { __typename }");
refused(silent, "a question about the schema where it is not told", INVALID, "{ __schema { queryType { name } } }");
refused(silent, "a question about a type where it is not told", INVALID, "{ a: __type(name: \"User\") { name } }");
refused(silent, "such a question in a fragment", INVALID, "{ ...f } fragment f on Query { ... on Query { __schema { queryType { name } } } }");
const RESOLUTION = "OPERATION_RESOLUTION_FAILURE";
refused(usual, "an operation that is not there", RESOLUTION, { query: "query A { __typename }", operationName: "B" });
refused(usual, "one of two operations, unnamed", RESOLUTION, "query A { __typename } query B { __typename }");

const BAD = "BAD_USER_INPUT";
refused(usual, "a variable that is missing", BAD, "query($h: String!) { user(handle: $h) { id } }");
refused(usual, "a variable that is null", BAD, { query: "query($h: String!) { user(handle: $h) { id } }", variables: { h: null } });
refused(usual, "a variable of another type", BAD, { query: "query($h: String!) { user(handle: $h) { id } }", variables: { h: 7 } });
for (const [what, input] of [["of another type", { handle: 5, password: "x" }], ["missing", { handle: "x" }], ["one too many", { handle: "x", password: "x", more: 1 }]]) {
  refused(usual, `a variable's field that is ${what}`, BAD, { query: "mutation($input: SignInInput!) { signIn(input: $input) { token } }", variables: { input } });
}
refused(usual, "a number beyond 32 bits", BAD, { query: "query($n: Int) { timeline(first: $n) { nodes { id } } }", variables: { n: 2 ** 31 } });
refused(usual, "a value that the enum does not have", BAD, { query: "query($f: TimelineFilter) { timeline(filter: $f) { nodes { id } } }", variables: { f: { kinds: ["SONG"] } } });
refused(usual, "an input field that is not there", BAD, { query: "query($f: TimelineFilter) { timeline(filter: $f) { nodes { id } } }", variables: { f: { colour: "red" } } });
refused(usual, "an input field that is missing", BAD, { query: "mutation($i: FollowUserInput!) { followUser(input: $i) { userErrors { code } } }", variables: { i: {} } });
const SEARCH_FROM = "search(text: \"tide\", from: $from) { nodes { id } } suggestedUsers { id }";
refused(usual, "a moment that is none", BAD, { query: `query($from: DateTime) { ${SEARCH_FROM} }`, variables: { from: "bad" } });
refused(usual, "a moment that is a number", BAD, { query: `query($from: DateTime) { ${SEARCH_FROM} }`, variables: { from: 7 } });
refused(usual, "a literal that is no moment", INVALID, `{ ${SEARCH_FROM.replace("$from", "\"bad\"")} }`);
refused(usual, "a default that is no moment", INVALID, `query($from: DateTime = "bad") { ${SEARCH_FROM} }`);
refused(usual, "an id of nothing", BAD, "{ node(id: \"X_7\") { id } }", { ran: true });
refused(usual, "too many ids", BAD, { query: "query($ids: [ID!]!) { nodes(ids: $ids) { id } }", variables: { ids: Array.from({ length: 101 }, () => "U_AAAAAAAAAAE") } }, { ran: true });
refused(usual, "a cursor of nothing", BAD, "{ user(handle: \"nobody\") { id } node(id: \"\") { id } }", { ran: true });
refused(usual, "a hash of no form", BAD, { extensions: { persistedQuery: { version: 1, sha256Hash: "short" } } }, { streamed: 400 });
refused(usual, "a hash of another text", BAD, { query: "{ __typename }", extensions: { persistedQuery: { version: 1, sha256Hash: "0".repeat(64) } } });
const HASH = { extensions: { persistedQuery: { version: 1, sha256Hash: "0".repeat(64) } } };
refused(usual, "a hash that nobody has sent", "PERSISTED_QUERY_NOT_FOUND", HASH);
refused(usual, "an id that no manifest has", "PERSISTED_QUERY_NOT_FOUND", { documentId: "unknown" });
refused(silent, "a hash where none are kept", "PERSISTED_QUERY_NOT_SUPPORTED", HASH);
refused(trusting, "a text that the manifest does not have", "PERSISTED_QUERY_NOT_IN_LIST", "{ a: __typename }");
refused(trusting, "a hash that the manifest does not have", "PERSISTED_QUERY_NOT_IN_LIST", HASH);
refused(trusting, "an id that the manifest does not have", "PERSISTED_QUERY_NOT_IN_LIST", { documentId: "unknown" });
refused(usual, "a timeline of nobody", "UNAUTHENTICATED", "{ timeline { nodes { id } } }", { ran: true });

for (const [way, ask] of Object.entries(WAYS)) {
  test(`${way}: what the manifest has is run by its id`, async () => {
    assert.deepEqual((await ask(await trusting, { documentId: "known" }, {})).data, { __typename: "Query" });
  });
  test(`${way}: who has spent all points is RATE_LIMITED`, async () => {
    const server = await poor;
    let told = await ask(server, { query: "{ nodes(ids: []) { id } a: __schema { queryType { name } } }" }, {});
    for (let more = 0; told.error === undefined && more < 3; more += 1) {
      told = await ask(server, { query: "{ __schema { queryType { name } } }" }, {});
    }
    assert.equal(told.error?.extensions.code, "RATE_LIMITED", JSON.stringify(told));
    assert.ok(told.error.extensions.retryAfter >= 1);
    if (told.status !== undefined) assert.equal(told.status, 429);
  });
}
walked.add("RATE_LIMITED");
// So many fields of one change take long enough that of several at once some find no place.
const narrow = start({ "admission.mutations": 1, "admission.mutations_waiting": 1 });
for (const [way, ask] of Object.entries(WAYS).filter(([name]) => name !== "GET")) {
  test(`${way}: a change beyond those that run and wait is OVERLOADED`, async () => {
    const fields = Array.from({ length: 40 }, (_, n) => `r${n}: refreshToken(input: { refreshToken: "none" }) { token }`);
    const server = await narrow;
    const all = await Promise.all(Array.from({ length: 40 }, () => ask(server, { query: `mutation { ${fields.join(" ")} }` }, {})));
    const refused = all.filter(({ error }) => error !== undefined);
    assert.ok(refused.length > 0 && refused.length < all.length, JSON.stringify(all));
    for (const { error, status, data } of refused) {
      assert.deepEqual([error.extensions.code, error.extensions.retryAfter, data], ["OVERLOADED", 1, undefined]);
      if (status !== undefined) assert.equal(status, 503);
    }
  });
}
walked.add("OVERLOADED");
for (const [way, ask] of Object.entries(WAYS).filter(([name]) => name !== "WebSocket")) {
  test(`${way}: a token that is not good is 401 and UNAUTHENTICATED, and nothing runs`, async () => {
    const told = await ask(await usual, { query: "{ __typename }" }, bearer("nonsense"));
    assert.deepEqual([told.status, told.error.extensions.code, told.data], [401, "UNAUTHENTICATED", undefined]);
  });
}
for (const [way, ask] of Object.entries(WAYS).filter(([name]) => name !== "WebSocket")) {
  test(`${way}: who acts as somebody without a service's key is 403 and FORBIDDEN, and nothing runs`, async () => {
    const { id, token } = await (await usual).register(`actor_${way.toLowerCase()}`);
    const told = await ask(await usual, { query: "{ __typename }" }, { ...bearer(token), "tidefeed-act-as": id });
    assert.deepEqual([told.status, told.error.extensions.code, told.data], [403, "FORBIDDEN", undefined]);
  });
}
walked.add("FORBIDDEN");
test("WebSocket: a token that is not good is 4403", async () => {
  const socket = await Socket.open(await usual);
  socket.say({ type: "connection_init", payload: bearer("nonsense") });
  await socket.closesWith(4403);
});

test("where the schema is not told, no error names what the client has not", async () => {
  for (const [query, message] of [
    ["{ search { nodes { id } } }", "Give `…`, `…` or both."],
    ["{ search(text: \"...\") { nodes { id } } }", "`text` needs at least one letter, digit or pictograph."],
  ]) assert.equal((await (await silent).post({ query })).json.errors[0].message, message);
  assert.equal((await (await usual).post({ query: "{ search { nodes { id } } }" })).json.errors[0].message, "Give `text`, `author` or both.");
});

const only = async (init, status, more = () => {}) => {
  const response = await fetch(typeof init === "string" ? init : (await usual).url, typeof init === "string" ? {} : init);
  assert.equal(response.status, status);
  const json = await response.json();
  assert.equal(json.errors[0].extensions.code, "BAD_USER_INPUT");
  assert.ok(response.headers.get("x-request-id"));
  more(response);
};
const JSON_HEADERS = { "content-type": "application/json" };
test("413: a body that is too large", () => only({ method: "POST", headers: JSON_HEADERS, body: JSON.stringify({ query: "x".repeat(300_000) }) }, 413));
test("415: a form, which another site's page could send", () => only({ method: "POST", headers: { "content-type": "application/x-www-form-urlencoded" }, body: "query={__typename}" }, 415));
test("415: text, which another site's page could send", () => only({ method: "POST", headers: { "content-type": "text/plain" }, body: "{\"query\":\"{__typename}\"}" }, 415));
test("406: no media type that is known", () => only({ method: "POST", headers: { ...JSON_HEADERS, accept: "text/html" }, body: "{}" }, 406));
test("405: a method that is not there, with those that are", () => only({ method: "PATCH" }, 405, ({ headers }) => { assert.match(headers.get("allow"), /POST/); }));
test("405: a mutation by GET", async () => only(`${(await usual).url}?query=${encodeURIComponent("mutation { signOut { endedSessionCount } }")}`, 405));
test("400: a subscription without a stream", () => only({ method: "POST", headers: JSON_HEADERS, body: JSON.stringify({ query: "subscription { newFeed { __typename } }" }) }, 400));
test("400: a list of operations", () => only({ method: "POST", headers: JSON_HEADERS, body: "[{\"query\":\"{ __typename }\"}]" }, 400));
test("400: no JSON", () => only({ method: "POST", headers: JSON_HEADERS, body: "{" }, 400));
test("400: JSON that nests 50,000 deep", () => only({ method: "POST", headers: JSON_HEADERS, body: `{"query":"","variables":${"[".repeat(50_000)}${"]".repeat(50_000)}}` }, 400));

test("404: GraphiQL where it is switched off, and the page says nothing of it", async () => {
  const { address } = await start({ "graphql.graphiql": false });
  const statuses = ["graphiql", ""].map(async (path) => (await fetch(`http://${address}/${path}`)).status);
  assert.deepEqual(await Promise.all(statuses), [404, 200]);
});

test("every code of docs/errors.md was walked, but for our own faults", () => {
  const codes = [...DOCUMENTED].map(([, code]) => code).filter((code) => code !== "INTERNAL_SERVER_ERROR");
  assert.ok(codes.length >= 10, String(codes));
  assert.deepEqual(codes.filter((code) => !walked.has(code)), []);
});
