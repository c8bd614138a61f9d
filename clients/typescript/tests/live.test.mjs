// The list as every client's list is tried (tests/frontends/live-list.mjs), on lines that are dead, and where there is no WebSocket.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { lineTo } from "../../../tests/clients/line.mjs";
import { until } from "../../../tests/clients/server.mjs";
import { live } from "../../../tests/frontends/live-list.mjs";
import { createTidefeed, memoryStore } from "../dist/index.js";
import { clientOf, mutate, peopleOf, publish, SOON, startServer, timelineOf, watch } from "./world.mjs";

const texts = (timeline) => timeline.getSnapshot().entries.map(({ content }) => content.text);

const server = await startServer();
const register = peopleOf(server);

test("a list stays true while things come and go, and while its connection is away", () => live(async ({ server, reader }, webSocketImpl, show) => {
  const client = clientOf(reader, server.address, { webSocketImpl });
  const timeline = client.timeline({ first: 7, settleMs: 50 });
  watch(timeline, () => { show(timeline.getSnapshot().entries.map(({ content }) => ({ node: content }))); });
  return { older: timeline.loadOlder, publish: (text) => client.publish({ text }) };
}));

test("a server that hangs is noticed and heard again, and nothing is told twice", async () => {
  const server = await startServer();
  const ann = await server.register("ann");
  const client = clientOf(ann, server.address, SOON);
  const timeline = client.timeline();
  watch(timeline);
  await until("it is live", () => client.connection.getSnapshot() === "live");
  await publish(server, "before", ann);
  await until("it is heard", () => texts(timeline).length === 1);
  server.hang();
  await until("it is not live", () => client.connection.getSnapshot() === "reconnecting");
  server.goOn();
  await publish(server, "after", ann);
  await until("it is heard", () => texts(timeline).length === 2);
  assert.deepEqual(texts(timeline), ["after", "before"]);
});

test("a line that drops everything is noticed, and what was missed comes", async () => {
  const ann = await register("ann");
  const line = await lineTo(server.address);
  after(line.end);
  const client = clientOf(ann, line.address, SOON);
  const timeline = client.timeline();
  watch(timeline);
  await until("it is live", () => client.connection.getSnapshot() === "live");
  line.silence();
  await publish(server, "while away", ann);
  await until("it is noticed", () => client.connection.getSnapshot() === "reconnecting");
  line.mend();
  await until("it is heard", () => texts(timeline).join() === "while away");
});

test("where there is no WebSocket the list says what to do, and is read all the same", async (context) => {
  if (globalThis.WebSocket !== undefined) {
    const { WebSocket } = globalThis;
    delete globalThis.WebSocket;
    context.after(() => { globalThis.WebSocket = WebSocket; });
  }
  const ann = await register("ann");
  await publish(server, "there", ann);
  const client = createTidefeed({ url: `http://${server.address}`, store: memoryStore(ann.tokens) });
  const timeline = client.timeline();
  watch(timeline);
  await until("it says so", () => timeline.getSnapshot().error !== null);
  assert.match(timeline.getSnapshot().error.message, /Install the package "ws" and pass its class/);
  assert.deepEqual(texts(timeline), ["there"]);
});

test("what others publish waits, and what it folds stays until it is shown", async () => {
  const [ann, bob] = [await register("ann"), await register("bob")];
  await mutate(server, "followUser", { userId: bob.id }, ann);
  const original = await publish(server, "original", bob);
  await publish(server, "between", bob);
  const timeline = clientOf(ann, server.address).timeline({ holdNew: true });
  watch(timeline);
  await until("it is read", () => texts(timeline).length === 2);
  await mutate(server, "repostContent", { contentId: original }, bob);
  await publish(server, "new", bob);
  await until("both wait", () => timeline.getSnapshot().newCount === 2);
  assert.deepEqual(texts(timeline), ["between", "original"]);
  timeline.showNew();
  assert.deepEqual(timeline.getSnapshot().entries.map(({ id }) => id), (await timelineOf(server, ann)).nodes.map(({ id }) => id));
  assert.deepEqual([timeline.getSnapshot().newCount, texts(timeline)[0], texts(timeline).at(-1)], [0, "new", "between"]);
});

test("one's read marker is where any device has moved it", async () => {
  const ann = await register("ann");
  for (const text of ["one", "two"]) await publish(server, text, ann);
  const [here, there] = [clientOf(ann, server.address), clientOf(ann, server.address)].map((client) => client.timeline());
  for (const timeline of [here, there]) watch(timeline);
  await until("both are read", () => texts(here).length === 2 && texts(there).length === 2);
  assert.deepEqual(await here.markRead(), []);
  const marked = here.getSnapshot().entries[0].cursor;
  assert.equal(here.getSnapshot().readMarker, marked);
  await until("the other one hears of it", () => there.getSnapshot().readMarker === marked);
});

test("a list grows no longer than it may, and goes on with the next page", async () => {
  const ann = await register("ann");
  const timeline = clientOf(ann, server.address).timeline({ keep: 5, first: 3 });
  watch(timeline);
  await until("it is read", () => timeline.getSnapshot().status === "ready");
  for (let number = 0; number < 9; number += 1) await publish(server, `content ${number}`, ann);
  await until("the newest is there", () => texts(timeline)[0] === "content 8");
  assert.deepEqual([texts(timeline).length, timeline.getSnapshot().hasOlder], [5, true]);
  await timeline.loadOlder();
  await timeline.loadOlder();
  assert.deepEqual(texts(timeline), Array.from({ length: 9 }, (_, number) => `content ${8 - number}`));
});

test("whoever signs out sees nothing of the timeline any more, and whoever signs in sees theirs", async () => {
  const [ann, bob] = [await register("ann"), await register("bob")];
  await publish(server, "of ann", ann);
  await publish(server, "of bob", bob);
  const client = clientOf(ann, server.address);
  const timeline = client.timeline();
  watch(timeline);
  await until("it is read", () => texts(timeline).join() === "of ann");
  client.session.signOut();
  assert.deepEqual([texts(timeline), timeline.getSnapshot().status], [[], "idle"]);
  assert.deepEqual(await client.session.signIn({ handle: bob.handle, password: "correct horse battery" }), []);
  await until("theirs is read", () => texts(timeline).join() === "of bob");
  await publish(server, "live", bob);
  await until("it is live", () => texts(timeline)[0] === "live");
});
