// docs/frontend.md's session: one refresh for all who ask, sockets that outlive their token, and one word when it is over.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, test } from "node:test";
import WebSocket from "ws";
import { start, until, within } from "../clients/server.mjs";
import { moduleOf } from "./guide.mjs";
import { publish, sessionOf } from "./world.mjs";

const SECRET = "of forty characters, as a test needs them";
/** A refresh token that is used twice ends its session at once. */
const STRICT = { "auth.secret": SECRET, "auth.refresh_grace_s": 0, "auth.revocation_s": 0 };
const MINUTE_MS = 60_000;

/** `token` as if it ended `seconds` from now. A server takes its tokens for 5 s longer. */
function ending(token, seconds) {
  const [header, payload] = token.split(".");
  const claims = { ...JSON.parse(Buffer.from(payload, "base64url")), exp: Math.floor(Date.now() / 1000) + seconds };
  const signed = `${header}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}`;
  return `${signed}.${createHmac("sha256", SECRET).update(signed).digest("base64url")}`;
}

/** How often tokens were refreshed from now on. */
function refreshes() {
  const { fetch } = globalThis;
  let count = 0;
  globalThis.fetch = (url, init) => {
    if (String(init?.body).includes("RefreshTokenInput")) count += 1;
    return fetch(url, init);
  };
  after(() => { globalThis.fetch = fetch; });
  return () => count;
}

const ASK = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ query: "{ viewer { handle } }" }) };
const handles = (session, server, many) => Promise.all(Array.from({ length: many }, async () => {
  const { data, errors } = await (await session.fetch(server.url, ASK)).json();
  return data?.viewer?.handle ?? errors?.[0].extensions.code ?? null;
}));

/** A socket of `session`, and what its feed hears. */
async function listen(session) {
  const { createSocket } = await moduleOf("feed.mjs");
  const heard = { texts: [], codes: [], errors: [] };
  const options = session.socketOptions();
  const closed = ({ code, ...event }) => {
    heard.codes.push(code);
    options.on.closed({ code, ...event });
  };
  const socket = createSocket({ ...options, on: { closed }, webSocketImpl: WebSocket });
  const query = "subscription($after: String) { newFeed(after: $after) { ... on EntryAdded { resumeToken timelineEdge { node { text } } } } }";
  after(socket.subscribe({ query }, {
    next: ({ data }) => heard.texts.push(data.newFeed.timelineEdge?.node.text),
    error: (errors) => heard.errors.push(errors[0]?.extensions.code),
    complete: () => {},
  }));
  return heard;
}

for (const [when, expiresAt] of [["shortly before they would be", Date.now() + 1000], ["because they were", Date.now() + MINUTE_MS * 60]]) {
  test(`fifty requests at once whose token is refused, ${when}, make one refresh and all succeed`, async () => {
    const server = await start(STRICT);
    const ann = await server.register("ann");
    const session = await sessionOf(server, { tokens: { ...ann.tokens, token: ending(ann.token, -10), expiresAt: new Date(expiresAt).toISOString() } });
    const count = refreshes();
    assert.deepEqual(await handles(session, server, 50), Array(50).fill("ann"));
    assert.equal(count(), 1);
    assert.notEqual(session.store.tokens.refreshToken, ann.tokens.refreshToken);
    assert.deepEqual(await handles(session, server, 5), Array(5).fill("ann"));
    assert.equal(count(), 1, "good tokens are used on");
  });
}

test("a machine whose clock is fast refreshes once in a token's life", async () => {
  const server = await start({ ...STRICT, "auth.token_ttl_minutes": 15 });
  const { arrived } = await moduleOf("session.mjs");
  const ann = await server.register("ann");
  const right = Date.now;
  after(() => { Date.now = right; });
  Date.now = () => right() + 880_000;
  const response = await fetch(server.url, ASK);
  const session = await sessionOf(server, { tokens: arrived(ann.tokens, response) });
  const count = refreshes();
  for (let n = 0; n < 20; n += 1) assert.deepEqual(await handles(session, server, 1), ["ann"]);
  assert.equal(count(), 0, "a token that has just come");
  Date.now = () => right() + 880_000 + 875_000;
  for (let n = 0; n < 20; n += 1) assert.deepEqual(await handles(session, server, 1), ["ann"]);
  Date.now = right;
  assert.equal(count(), 1, "one that ends soon");
});

test("a socket outlives its token: it is closed with 4403, opened with a new one, and hears what is published then", async () => {
  const server = await start(STRICT);
  const ann = await server.register("ann");
  const session = await sessionOf(server, { tokens: { ...ann.tokens, token: ending(ann.token, 0) } });
  const count = refreshes();
  const heard = await listen(session);
  await until("it is closed for its token", () => heard.codes.includes(4403));
  await until("it hears what is published after", async () => {
    await publish(server, ann, "after");
    return heard.texts.includes("after");
  });
  assert.deepEqual([count(), heard.codes, heard.errors], [1, [4403], []]);
});

test("an answer to a refresh that is lost is asked for again at once, and the session goes on", async () => {
  const server = await start({ ...STRICT, "auth.refresh_grace_s": 30 });
  const ann = await server.register("ann");
  const session = await sessionOf(server, { tokens: { ...ann.tokens, expiresAt: new Date(0).toISOString() } });
  const { fetch } = globalThis;
  let lost = 0;
  globalThis.fetch = async (url, init) => {
    const response = await fetch(url, init);
    if (!init.body.includes("RefreshTokenInput") || lost > 0) return response;
    lost += 1;
    throw new TypeError("The line was cut.");
  };
  after(() => { globalThis.fetch = fetch; });
  assert.deepEqual(await handles(session, server, 3), Array(3).fill("ann"));
  assert.equal(lost, 1);
});

test("a session that was ended elsewhere says so once, to fifty requests and a socket", async () => {
  const server = await start(STRICT);
  const ann = await server.register("ann");
  let said = 0;
  const session = await sessionOf(server, ann, () => { said += 1; });
  const heard = await listen(session);
  await until("the socket hears", async () => {
    await publish(server, ann, "there");
    return heard.texts.includes("there");
  });
  const { signIn } = await server.data("mutation { signIn(input: { handle: \"ann\", password: \"correct horse battery\" }) { token } }");
  const { viewer } = await server.data("{ viewer { sessions { id isCurrent } } }", {}, signIn.token);
  const other = viewer.sessions.find(({ isCurrent }) => !isCurrent);
  await server.data("mutation($id: ID!) { endSession(input: { sessionId: $id }) { userErrors { message } } }", { id: other.id }, signIn.token);
  const answers = await within("all are answered", handles(session, server, 50));
  await until("the socket is told", () => heard.errors.length > 0);
  assert.deepEqual(answers.filter((answer) => answer === "ann"), []);
  assert.deepEqual([said, session.store.tokens, heard.codes[0], heard.errors], [1, null, 4403, ["UNAUTHENTICATED"]]);
});
