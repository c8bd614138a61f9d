// One refresh for all who ask and for all tabs, sockets that outlive their token, and one word when a session is over.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { PASSWORD, until } from "../../../tests/clients/server.mjs";
import { createSession, createTidefeed, memoryStore } from "../dist/index.js";
import { clientOf, peopleOf, publish, startServer, watch } from "./world.mjs";

const SECRET = "of forty characters, as a test needs them";
/** A refresh token that is used twice ends its session at once. */
const STRICT = { "auth.secret": SECRET, "auth.refresh_grace_s": 0, "auth.revocation_s": 0 };
const VIEWER = "{ viewer { handle } }";

const server = await startServer(STRICT);
const register = peopleOf(server);

/** `token` as if it ended `seconds` from now. A server takes its tokens for 5 s longer. */
function ending(token, seconds) {
  const [header, payload] = token.split(".");
  const claims = { ...JSON.parse(Buffer.from(payload, "base64url")), exp: Math.floor(Date.now() / 1000) + seconds };
  const signed = `${header}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}`;
  return `${signed}.${createHmac("sha256", SECRET).update(signed).digest("base64url")}`;
}

/** A `fetch` that counts refreshes, and loses the answers of the first `losses`. */
function counted(losses = 0) {
  const counter = { refreshes: 0 };
  counter.fetch = async (url, init) => {
    const answer = await fetch(url, init);
    if (!String(init?.body).includes("RefreshTokenInput")) return answer;
    counter.refreshes += 1;
    if (counter.refreshes <= losses) throw new TypeError("The line was cut.");
    return answer;
  };
  return counter;
}

/** What Web Locks are between the tabs of a page. */
function withLocks(context) {
  let turn = Promise.resolve();
  const { navigator } = globalThis;
  const locks = { request: (_name, work) => (turn = turn.then(work, work)) };
  Object.defineProperty(globalThis, "navigator", { value: { locks }, configurable: true, writable: true });
  context.after(() => { Object.defineProperty(globalThis, "navigator", { value: navigator, configurable: true, writable: true }); });
}

const asStored = ({ tokens }, change) => ({ ...tokens, ...change });

for (const [when, expiresAt] of [["shortly before they would be", 1000], ["because they were", 3_600_000]]) {
  test(`fifty requests at once whose token is refused, ${when}, make one refresh`, async () => {
    const ann = await register("ann");
    const tokens = asStored(ann, { token: ending(ann.token, -10), expiresAt: new Date(Date.now() + expiresAt).toISOString() });
    const counter = counted();
    const client = clientOf({ tokens }, server.address, { fetch: counter.fetch });
    const answers = await Promise.all(Array.from({ length: 50 }, () => client.request(VIEWER)));
    assert.deepEqual(answers.map(({ viewer }) => viewer?.handle), Array(50).fill(ann.handle));
    assert.equal(counter.refreshes, 1);
  });
}

test("three tabs whose token has ended make one refresh", async (context) => {
  withLocks(context);
  const ann = await register("ann");
  const store = memoryStore(asStored(ann, { expiresAt: new Date(0).toISOString() }));
  const counter = counted();
  const tabs = Array.from({ length: 3 }, () => clientOf(ann, server.address, { store, fetch: counter.fetch }));
  const answers = await Promise.all(tabs.map((tab) => tab.request(VIEWER)));
  assert.deepEqual(answers.map(({ viewer }) => viewer.handle), Array(3).fill(ann.handle));
  assert.equal(counter.refreshes, 1);
});

test("the answer to a refresh that is lost is asked for again at once", async () => {
  const lenient = await startServer({ ...STRICT, "auth.refresh_grace_s": 30 });
  const ann = await lenient.register("ann");
  const counter = counted(1);
  const client = clientOf({ tokens: asStored(ann, { expiresAt: new Date(0).toISOString() }) }, lenient.address, { fetch: counter.fetch });
  assert.equal((await client.request(VIEWER)).viewer.handle, ann.handle);
  assert.deepEqual([counter.refreshes, client.session.getSnapshot().signedIn], [2, true]);
});

test("a list outlives its token", async () => {
  const ann = await register("ann");
  const counter = counted();
  const client = clientOf({ tokens: asStored(ann, { token: ending(ann.token, 1) }) }, server.address, { fetch: counter.fetch });
  const [timeline, states] = [client.timeline(), []];
  watch(timeline);
  watch(client.connection, () => states.push(client.connection.getSnapshot()));
  await until("its socket was closed and opened again", () => counter.refreshes > 0 && states.indexOf("live", states.indexOf("reconnecting") + 1) > 0);
  await publish(server, "after", ann);
  await until("it is heard", () => timeline.getSnapshot().entries[0]?.content.text === "after");
  assert.equal(counter.refreshes, 1);
});

test("a session that was ended elsewhere says so once, to fifty requests and a list", async () => {
  const ann = await register("ann");
  const client = clientOf(ann, server.address);
  const [timeline, states] = [client.timeline(), []];
  watch(timeline);
  watch(client.session, () => states.push(client.session.getSnapshot()));
  await until("it is live", () => client.connection.getSnapshot() === "live");
  const { signIn } = await server.data(`mutation { signIn(input: { handle: "${ann.handle}", password: "correct horse battery" }) { token } }`);
  const { viewer } = await server.data("{ viewer { sessions { id isCurrent } } }", {}, signIn.token);
  const other = viewer.sessions.find(({ isCurrent }) => !isCurrent);
  await server.data("mutation($id: ID!) { endSession(input: { sessionId: $id }) { endedSessionCount } }", { id: other.id }, signIn.token);
  await Promise.allSettled(Array.from({ length: 50 }, () => client.request(VIEWER)));
  await until("it is told", () => states.length > 0);
  assert.deepEqual(states, [{ signedIn: false, ended: "expired" }]);
  assert.deepEqual(timeline.getSnapshot().entries, []);
});

test("who registers is signed in, and a handle that is taken is a reason", async () => {
  const client = clientOf({ tokens: null }, server.address);
  const input = { handle: "ann", name: "Ann", password: "correct horse battery" };
  assert.deepEqual(await client.session.register(input), []);
  assert.equal((await client.request(VIEWER)).viewer.handle, "ann");
  client.session.signOut();
  assert.deepEqual([client.session.getSnapshot(), (await client.request(VIEWER)).viewer], [{ signedIn: false, ended: "signed-out" }, null]);
  assert.deepEqual((await client.session.register(input)).map(({ code }) => code), ["TAKEN"]);
  assert.deepEqual((await client.session.signIn({ handle: "ann", password: "another one" })).map(({ code }) => code), ["WRONG_CREDENTIALS"]);
});

test("a session without anything else registers, sends its token along, and signs out", async () => {
  const session = createSession({ url: `http://${server.address}/`, store: memoryStore() });
  assert.deepEqual(await session.register({ handle: "alone", name: "Alone", password: PASSWORD }), []);
  const ask = async () => {
    const response = await session.fetch(`http://${server.address}/graphql`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ query: VIEWER }) });
    return (await response.json()).data.viewer;
  };
  assert.deepEqual(await ask(), { handle: "alone" });
  session.signOut();
  assert.equal(await ask(), null);
});

const refuse = (name) => () => { throw new DOMException("Refused.", name); };
/** A localStorage of the test's own, perhaps with other methods; `stored`: what is in it. */
function storageOf(methods = {}, stored = new Map()) {
  const storage = {
    getItem: (key) => stored.get(key) ?? null,
    setItem: (key, value) => { stored.set(key, value); },
    removeItem: (key) => { stored.delete(key); },
    ...methods,
  };
  return { value: storage };
}

/** Platforms as they come: what `localStorage` is there. None of them has a global `addEventListener`. */
const PLATFORMS = {
  "without a localStorage": { value: undefined },
  "whose localStorage has no methods, as Node 25": { value: {} },
  "where asking for the localStorage throws, as with site data blocked": { get: refuse("SecurityError") },
  "whose localStorage is full": storageOf({ setItem: refuse("QuotaExceededError") }),
  "whose localStorage throws whatever is asked": storageOf({ getItem: refuse("SecurityError"), setItem: refuse("SecurityError"), removeItem: refuse("SecurityError") }),
  "whose locks are refused, as in a sandboxed frame": { get: refuse("SecurityError"), locks: { request: async () => refuse("SecurityError")() } },
};
for (const [platform, { locks, ...storage }] of Object.entries(PLATFORMS)) {
  test(`people sign in, refresh and sign out on a platform ${platform}`, async (context) => {
    const { navigator } = globalThis;
    Object.defineProperty(globalThis, "localStorage", { configurable: true, ...storage });
    if (locks !== undefined) Object.defineProperty(globalThis, "navigator", { value: { locks }, configurable: true, writable: true });
    context.after(() => {
      delete globalThis.localStorage;
      Object.defineProperty(globalThis, "navigator", { value: navigator, configurable: true, writable: true });
    });
    assert.equal(globalThis.addEventListener, undefined);
    const client = createTidefeed({ url: `http://${server.address}` });
    context.after(client.close);
    const handle = `on_${Object.keys(PLATFORMS).indexOf(platform)}`;
    assert.deepEqual(await client.session.register({ handle, name: "On", password: PASSWORD }), []);
    assert.equal((await client.request(VIEWER)).viewer.handle, handle);
    client.session.refuse(await client.session.token());
    assert.equal((await client.request(VIEWER)).viewer.handle, handle, "with another token");
    client.session.signOut();
    assert.deepEqual([client.session.getSnapshot().signedIn, (await client.request(VIEWER)).viewer], [false, null]);
  });
}

test("who signs in where storage is full leaves no former token to other tabs", async (context) => {
  const stored = new Map([["tidefeed.tokens", JSON.stringify({ token: "former", expiresAt: "2999-01-01T00:00:00.000Z", refreshToken: "former" })]]);
  Object.defineProperty(globalThis, "localStorage", { configurable: true, ...storageOf({ setItem: refuse("QuotaExceededError") }, stored) });
  context.after(() => { delete globalThis.localStorage; });
  const session = createSession({ url: `http://${server.address}` });
  assert.deepEqual(await session.register({ handle: "full", name: "Full", password: PASSWORD }), []);
  assert.deepEqual([stored.size, (await session.token())?.length > 100], [0, true]);
});

test("a clock that is wrong makes one refresh in a token's life", async (context) => {
  const short = await startServer({ "auth.token_ttl_minutes": 15 });
  let wrong = 0;
  const right = Date.now;
  context.mock.method(Date, "now", () => right() + wrong);
  const ask = async (client, times) => { for (let n = 0; n < times; n += 1) assert.notEqual((await client.request(VIEWER)).viewer, null); };
  for (const [name, ahead] of [["ahead", 880_000], ["days_ahead", 7 * 86_400_000], ["a_year_ahead", 365 * 86_400_000], ["behind", -880_000], ["a_year_behind", -365 * 86_400_000]]) {
    wrong = ahead;
    const counter = counted();
    const client = clientOf({ tokens: null }, short.address, { fetch: counter.fetch });
    assert.deepEqual(await client.session.register({ handle: name, name, password: PASSWORD }), []);
    await ask(client, 20);
    wrong += 860_000;
    await ask(client, 1);
    assert.equal(counter.refreshes, 0, `${name}, before its end`);
    wrong += 15_000;
    await ask(client, 20);
    assert.equal(counter.refreshes, 1, `${name}, shortly before its end`);
  }
});
