// How sessions end, and when it is worth trying again to begin one.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createTidefeed, memoryStore } from "../dist/index.js";
import { PASSWORD, until } from "../../../tests/clients/server.mjs";
import { clientOf, peopleOf, publish, startServer, watch } from "./world.mjs";

const server = await startServer();
const register = peopleOf(server);

test("all sessions end on the server before this one ends here, as signed out", async () => {
  const ann = await register("ann");
  let isBroken = true;
  const fetching = (url, init) => {
    if (isBroken) throw new TypeError("The line was cut.");
    return fetch(url, init);
  };
  const { session, request } = clientOf(ann, server.address, { fetch: fetching });
  await assert.rejects(session.signOutEverywhere(), { name: "RequestError", code: "UNREACHABLE" });
  assert.equal(session.getSnapshot().signedIn, true);
  isBroken = false;
  const other = clientOf(ann, server.address);
  await session.signOutEverywhere();
  assert.deepEqual(session.getSnapshot(), { signedIn: false, ended: "signed-out" });
  await assert.rejects(other.request("{ timeline { nodes { id } } }"), { code: "UNAUTHENTICATED" });
  assert.equal((await request("{ viewer { id } }")).viewer, null);
});

test("an account is deleted with its password alone, and the list of whoever follows loses all of it", async () => {
  const [ann, bob] = [await register("ann"), await register("bob")];
  await publish(server, "of ann", ann);
  const [leaving, staying] = [clientOf(ann, server.address), clientOf(bob, server.address)];
  await staying.follow(ann.id);
  const timeline = staying.timeline();
  watch(timeline, () => {});
  const texts = () => timeline.getSnapshot().entries.map(({ content }) => content.text).join();
  await until("it is read", () => texts() === "of ann");
  assert.equal((await leaving.session.deleteAccount("not this one"))[0]?.code, "WRONG_CREDENTIALS");
  assert.equal(leaving.session.getSnapshot().signedIn, true);
  assert.deepEqual(await leaving.session.deleteAccount(PASSWORD), []);
  assert.deepEqual(leaving.session.getSnapshot(), { signedIn: false, ended: "deleted" });
  await until("it is gone", () => texts() === "");
  assert.equal((await staying.request("query($h: String!) { user(handle: $h) { id } }", { h: ann.handle })).user, null);
});

test("after too many failures it is told when to try again", async () => {
  const { handle } = await register("ann");
  const { session } = createTidefeed({ url: `http://${server.address}`, store: memoryStore() });
  let errors = [];
  for (let tries = 0; tries < 30 && errors[0]?.code !== "TOO_MANY_ATTEMPTS"; tries += 1) errors = await session.signIn({ handle, password: "not this one" });
  assert.equal(errors[0]?.code, "TOO_MANY_ATTEMPTS");
  assert.ok(Date.parse(errors[0].retryAt) > Date.now() - 60_000, errors[0].retryAt);
});

test("a draft that is published twice with one key is published once", async () => {
  const ann = await register("ann");
  const client = clientOf(ann, server.address);
  for (let times = 0; times < 2; times += 1) assert.deepEqual(await client.publish({ text: "once", key: "a-key-of-ones-own" }), []);
  assert.equal((await client.request("{ viewer { contentCount } }")).viewer.contentCount, 1);
});

test("a list that nobody watches any more when its first page comes listens to nothing", async () => {
  const ann = await register("ann");
  const held = [];
  let isAsked = false;
  const fetching = async (url, init) => {
    const answer = await fetch(url, init);
    if (!String(init?.body).includes("timeline(")) return answer;
    isAsked = true;
    return new Promise((resolve) => { held.push(() => { resolve(answer); }); });
  };
  const client = clientOf(ann, server.address, { fetch: fetching });
  const states = new Set();
  client.connection.subscribe(() => { states.add(client.connection.getSnapshot()); });
  const timeline = client.timeline();
  const leave = timeline.subscribe(() => {});
  await until("it is asked for", () => isAsked);
  leave();
  await new Promise((resolve) => { setTimeout(resolve, 10); }); // A list that is left and watched again at once goes on.
  for (const go of held) go();
  await until("it is read", () => timeline.getSnapshot().status === "ready");
  await new Promise((resolve) => { setTimeout(resolve, 50); });
  assert.deepEqual([...states], [], "it has connected");
  watch(timeline);
  await until("who watches it then hears", () => client.connection.getSnapshot() === "live");
});

test("a list that nobody watched while somebody else signed in begins anew", async () => {
  const [ann, bob] = [await register("ann"), await register("bob")];
  await publish(server, "of ann", ann);
  await publish(server, "of bob", bob);
  const client = clientOf(ann, server.address);
  const timeline = client.timeline();
  const texts = () => timeline.getSnapshot().entries.map(({ content }) => content.text).join();
  const leave = timeline.subscribe(() => {});
  await until("it is read", () => texts() === "of ann");
  leave();
  await new Promise((resolve) => { setTimeout(resolve, 10); }); // A list that is left and watched again at once goes on.
  client.session.signOut();
  assert.deepEqual(await client.session.signIn({ handle: bob.handle, password: PASSWORD }), []);
  const seen = [];
  watch(timeline, () => { seen.push(texts()); });
  await until("it is bob's", () => texts() === "of bob");
  assert.equal(seen.includes("of ann"), false);
});
