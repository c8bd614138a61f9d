// The list as every client's list is tried (tests/frontends/live-list.mjs), on lines that are dead, and where there is no WebSocket.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { lineTo } from "../../../tests/clients/line.mjs";
import { until } from "../../../tests/clients/server.mjs";
import { live } from "../../../tests/frontends/live-list.mjs";
import WebSocket from "ws";
import { createTidefeed, memoryStore } from "../dist/index.js";
import { waitMs } from "../dist/waiting.js";
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

test("a list of the longest pages is read within what one operation may cost", async () => {
  const ann = await register("ann");
  await publish(server, "one", ann);
  for (const kinds of [undefined, ["POST", "REPLY"]]) {
    const timeline = clientOf(ann, server.address).timeline({ first: 100, kinds });
    watch(timeline);
    await until("it is read, or refused", () => timeline.getSnapshot().error !== null || texts(timeline).length === 1);
    assert.equal(timeline.getSnapshot().error, null);
  }
});

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

test("a page that was held up longer than an answer may take does not give up a line that has answered", async () => {
  const ann = await register("ann");
  let rounds = 3;
  /** After a ping nothing else runs for longer than its answer may take, as on a machine that is busy or asleep. */
  class Held extends WebSocket {
    send(message) {
      super.send(message);
      if (!message.includes('"ping"') || rounds === 0) return;
      rounds -= 1;
      setImmediate(() => { for (const end = Date.now() + 1000; Date.now() < end;); });
    }
  }
  const client = clientOf(ann, server.address, { keepAliveMs: 20, pongMs: 300, webSocketImpl: Held });
  watch(client.timeline());
  await until("it is live", () => client.connection.getSnapshot() === "live");
  const states = [];
  after(client.connection.subscribe(() => states.push(client.connection.getSnapshot())));
  await until("it was held up", () => rounds === 0);
  await sleep(500);
  assert.deepEqual(states, []);
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

test("what goes below the stream's reach after a connection is back, and before the stream begins, goes from the list", async () => {
  const [ann, bob] = [await register("ann"), await register("bob")];
  await mutate(server, "followUser", { userId: bob.id }, ann);
  const oldest = await publish(server, "oldest", bob);
  for (let number = 0; number < 79; number += 1) await publish(server, `post ${number}`, bob);
  /** Subscribes only when it may. */
  let [mayBegin, gate] = [() => {}, Promise.resolve()];
  const sockets = [];
  class Gated extends WebSocket {
    constructor(...given) {
      super(...given);
      sockets.push(this);
    }
    send(message) {
      if (message.includes('"subscribe"')) void gate.then(() => super.send(message));
      else super.send(message);
    }
  }
  const client = clientOf(ann, server.address, { webSocketImpl: Gated });
  const timeline = client.timeline({ first: 80, settleMs: 20, checkMs: 0 });
  watch(timeline);
  await until("it is read", () => texts(timeline).length === 80 && timeline.getSnapshot().isSettled);
  gate = new Promise((resolve) => { mayBegin = resolve; });
  sockets.at(-1).terminate();
  await until("it is away", () => client.connection.getSnapshot() === "reconnecting");
  await until("it is back", () => client.connection.getSnapshot() === "live");
  await sleep(500); // A list that is compared now is compared too early.
  await mutate(server, "deleteContent", { contentId: oldest }, bob);
  assert.equal(timeline.getSnapshot().isSettled, false, "what is below may differ until the stream has begun");
  mayBegin();
  await until("it is gone", () => texts(timeline).length === 79);
});

test("what another device's unmuting brings back far below comes", async () => {
  const [ann, bob, cid] = [await register("ann"), await register("bob"), await register("cid")];
  for (const { id } of [bob, cid]) await mutate(server, "followUser", { userId: id }, ann);
  await publish(server, "below them all", bob);
  for (let number = 0; number < 5; number += 1) await publish(server, `of cid ${number}`, cid);
  for (let number = 0; number < 74; number += 1) await publish(server, `of bob ${number}`, bob);
  const timeline = clientOf(ann, server.address).timeline({ first: 90, settleMs: 20, checkMs: 0 });
  watch(timeline);
  await until("it is read", () => texts(timeline).length === 80 && timeline.getSnapshot().isSettled);
  await mutate(server, "muteUser", { userId: cid.id }, ann);
  await until("they are gone", () => texts(timeline).length === 75 && timeline.getSnapshot().isSettled);
  await mutate(server, "unmuteUser", { userId: cid.id }, ann);
  await until("they are back", () => texts(timeline).length === 80);
});

test("a list of posts loses one that is deleted below its repost", async () => {
  const [ann, bob, cid] = [await register("ann"), await register("bob"), await register("cid")];
  for (const { id } of [bob, cid]) await mutate(server, "followUser", { userId: id }, ann);
  const original = await publish(server, "to be deleted", bob);
  const timeline = clientOf(ann, server.address).timeline({ kinds: ["POST"], settleMs: 20, checkMs: 0 });
  watch(timeline);
  await until("it is read", () => texts(timeline).length === 1 && timeline.getSnapshot().isSettled);
  await mutate(server, "repostContent", { contentId: original }, cid);
  await publish(server, "after the repost", cid);
  await until("the repost was told", () => texts(timeline).length === 2 && timeline.getSnapshot().isSettled);
  await sleep(500); // What the repost has put in doubt is compared.
  await mutate(server, "deleteContent", { contentId: original }, bob);
  await until("it is gone", () => texts(timeline).length === 1);
  assert.deepEqual(texts(timeline), ["after the repost"]);
});

test("entries of one millisecond stand in the server's order, whichever comes first", async () => {
  const [judge, ann] = [await register("judge"), await register("ann")];
  const authors = await Promise.all(Array.from({ length: 12 }, () => register("author")));
  for (const { id } of authors) await mutate(server, "followUser", { userId: id }, judge);
  let upper;
  await until("two have published in one millisecond", async () => {
    await Promise.all(authors.map((author) => publish(server, "at once", author)));
    const { nodes } = await timelineOf(server, judge);
    const at = nodes.findIndex(({ createdAt, author }, place) => createdAt === nodes[place + 1]?.createdAt && author.id !== nodes[place + 1].author.id);
    upper = nodes[at]?.author;
    return at >= 0;
  });
  await mutate(server, "followUser", { userId: upper.id }, ann);
  const timeline = clientOf(ann, server.address).timeline({ settleMs: 20 });
  watch(timeline);
  await until("what is above is shown", () => timeline.getSnapshot().entries.length > 0);
  for (const { id } of authors) if (id !== upper.id) await mutate(server, "followUser", { userId: id }, ann);
  const wanted = (await timelineOf(server, ann)).nodes.map(({ id }) => id);
  await until("the list is the server's timeline", async () => {
    await timeline.loadOlder();
    return timeline.getSnapshot().entries.map(({ id }) => id).join() === wanted.join();
  });
});

test("a list of one kind has what is published after its page was read, and before its stream begins", async () => {
  const ann = await register("ann");
  let isPublished = false;
  const fetch = async (url, init) => {
    const answer = await globalThis.fetch(url, init);
    if (JSON.parse(init.body).variables?.filter !== undefined && !isPublished) {
      isPublished = true;
      await publish(server, "meanwhile", ann);
    }
    return answer;
  };
  const timeline = clientOf(ann, server.address, { fetch }).timeline({ kinds: ["POST"] });
  watch(timeline);
  await until("it is heard", () => texts(timeline).join() === "meanwhile");
});

test("a list that was read to its end keeps its end when something comes while it is compared", async () => {
  const ann = await register("ann");
  for (const text of ["one", "two", "three"]) await publish(server, text, ann);
  const outdated = await publish(server, "outdated", ann);
  let isRead = false;
  let isPublished = false;
  const fetch = async (url, init) => {
    if (isRead && !isPublished && JSON.parse(init.body).variables?.filter !== undefined) {
      isPublished = true;
      await publish(server, "meanwhile", ann);
    }
    return globalThis.fetch(url, init);
  };
  const timeline = clientOf(ann, server.address, { fetch }).timeline({ kinds: ["POST"], settleMs: 20 });
  watch(timeline);
  await until("it is read", () => texts(timeline).length === 4);
  isRead = true;
  await mutate(server, "deleteContent", { contentId: outdated }, ann);
  await until("it is compared", () => isPublished && timeline.getSnapshot().isSettled);
  assert.deepEqual(texts(timeline), ["meanwhile", "three", "two", "one"]);
});

test("clients that have waited as long as they ever do try again within its second half, each at another time", () => {
  const waits = Array.from({ length: 400 }, () => waitMs(20, 4_000));
  assert.ok(waits.every((ms) => ms >= 2_000 && ms <= 4_000));
  for (let from = 2_000; from < 4_000; from += 500) assert.ok(waits.some((ms) => ms >= from && ms < from + 500), `none from ${from} ms on`);
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

test("what comes while older entries are read leaves no gap between them and what was there", async () => {
  const [ann, bob] = [await register("ann"), await register("bob")];
  await mutate(server, "followUser", { userId: bob.id }, ann);
  for (let number = 0; number < 30; number += 1) await publish(server, `post ${number}`, bob);
  const line = await lineTo(server.address);
  after(line.end);
  /** What is told takes another way than what is read. */
  class Direct extends WebSocket {
    constructor(url, protocols) { super(url.replace(line.address, server.address), protocols); }
  }
  const timeline = clientOf(ann, line.address, { webSocketImpl: Direct }).timeline({ first: 10, keep: 10, settleMs: 20, checkMs: 0 });
  watch(timeline);
  await until("it is live", () => texts(timeline).length === 10 && timeline.getSnapshot().isSettled);
  line.slow(300);
  const older = timeline.loadOlder();
  await publish(server, "meanwhile", bob);
  await until("what came is there", () => texts(timeline)[0] === "meanwhile");
  assert.equal(timeline.getSnapshot().isLoadingOlder, true);
  await older;
  line.slow(0);
  await until("nothing is under way", () => timeline.getSnapshot().isSettled);
  const { nodes } = await timelineOf(server, ann, texts(timeline).length);
  assert.ok(nodes.length > 15);
  assert.deepEqual(texts(timeline), nodes.map(({ text }) => text));
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
