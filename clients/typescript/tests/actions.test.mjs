// What the viewer does is shown before it is answered, equals the answer afterwards, and is taken back when it is refused or fails.
import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../../../tests/clients/server.mjs";
import { clientOf, mutate, peopleOf, publish, startServer, timelineOf, watch } from "./world.mjs";

const server = await startServer();
const register = peopleOf(server);

/** A `fetch` whose answers to mutations wait for `let`, or fail while `isBroken`. */
function heldFetch() {
  const gate = { waiting: [], isHeld: false, isBroken: false, sent: [] };
  gate.fetch = async (url, init) => {
    if (!String(init?.body).includes("\"mutation")) return fetch(url, init);
    gate.sent.push(JSON.parse(init.body));
    if (gate.isBroken) throw new TypeError("The line was cut.");
    const answer = await fetch(url, init);
    if (gate.isHeld) await new Promise((resolve) => { gate.waiting.push(resolve); });
    return answer;
  };
  gate.go = () => {
    gate.isHeld = false;
    for (const resolve of gate.waiting.splice(0)) resolve();
  };
  return gate;
}

/** Ann, who follows bob, and her list. */
async function begin() {
  const [ann, bob] = [await register("ann"), await register("bob")];
  await mutate(server, "followUser", { userId: bob.id }, ann);
  const contents = [];
  for (const text of ["one", "two"]) contents.push(await publish(server, text, bob));
  const gate = heldFetch();
  const client = clientOf(ann, server.address, { fetch: gate.fetch });
  const timeline = client.timeline();
  watch(timeline);
  await until("it is live", () => timeline.getSnapshot().status === "ready" && client.connection.getSnapshot() === "live");
  const shown = () => timeline.getSnapshot().entries;
  const texts = () => shown().map(({ content }) => content.repostOf?.text ?? content.text);
  const isTrue = async () => {
    await until("the list is the timeline", async () => {
      const { nodes } = await timelineOf(server, ann);
      return timeline.getSnapshot().isSettled && JSON.stringify(shown().map(({ id }) => id)) === JSON.stringify(nodes.map(({ id }) => id));
    });
  };
  return { ann, bob, contents, gate, client, timeline, shown, texts, isTrue };
}

test("a publish stands at the top at once, and then once", async () => {
  const { gate, client, timeline, shown, texts, isTrue } = await begin();
  gate.isHeld = true;
  const double = [];
  watch(timeline, () => { if (texts().filter((text) => text === "mine").length > 1) double.push(texts()); });
  const published = client.publish({ text: "mine" });
  assert.deepEqual([texts(), shown()[0].isDraft], [["mine", "two", "one"], true]);
  await until("it comes live before it is answered", () => !shown()[0].isDraft);
  gate.go();
  assert.deepEqual(await published, []);
  assert.deepEqual([texts(), double], [["mine", "two", "one"], []]);
  await isTrue();
});

test("a publish that is refused is gone, and says why", async () => {
  const { client, texts } = await begin();
  const published = client.publish({ text: "x".repeat(5001) });
  assert.equal(texts().length, 3);
  assert.deepEqual((await published).map(({ code, field }) => [code, field.at(-1)]), [["TOO_LONG", "text"]]);
  assert.deepEqual(texts(), ["two", "one"]);
});

test("a publish whose answer is lost is sent again with its key, and published once", async () => {
  const { gate, client, texts, isTrue } = await begin();
  gate.isBroken = true;
  const published = client.publish({ text: "mine" });
  await until("it was tried twice", () => gate.sent.length >= 2);
  gate.isBroken = false;
  assert.deepEqual(await published, []);
  const keys = gate.sent.map(({ variables }) => variables.input.idempotencyKey);
  assert.equal(new Set(keys).size, 1);
  assert.deepEqual(texts(), ["mine", "two", "one"]);
  await isTrue();
});

test("a publish that never arrives is gone, and says that nobody was reached", { timeout: 60_000 }, async () => {
  const { gate, client, texts } = await begin();
  gate.isBroken = true;
  await assert.rejects(client.publish({ text: "mine" }), { name: "RequestError", code: "UNREACHABLE" });
  assert.deepEqual(texts(), ["two", "one"]);
});

test("a like counts at once, and not when it is refused", async () => {
  const { gate, client, shown, contents, bob } = await begin();
  const likes = (id) => {
    const { content } = shown().find((entry) => entry.id === id);
    return [content.viewerHasLiked, content.likeCount];
  };
  gate.isHeld = true;
  const liked = client.like(contents[1]);
  assert.deepEqual(likes(contents[1]), [true, 1]);
  const unliked = client.unlike(contents[1]);
  const again = client.like(contents[1]);
  assert.deepEqual(likes(contents[1]), [true, 1], "the last word counts");
  gate.go();
  assert.deepEqual(await Promise.all([liked, unliked, again]), [[], [], []]);
  assert.deepEqual(likes(contents[1]), [true, 1]);
  const sent = gate.sent.map(({ query }) => /mutation (\w+)/.exec(query)[1]);
  assert.deepEqual(sent, ["likeContent", "unlikeContent", "likeContent"]);
  gate.isBroken = true;
  const failed = client.like(contents[0]);
  assert.deepEqual(likes(contents[0]), [true, 1]);
  await assert.rejects(failed);
  assert.deepEqual(likes(contents[0]), [false, 0]);
  gate.isBroken = false;
  await mutate(server, "deleteContent", { contentId: contents[0] }, bob);
  assert.deepEqual((await client.like(contents[0])).map(({ code }) => code), ["NOT_FOUND"]);
});

test("a repost stands for its original at once, and the original again when it is taken back", async () => {
  const { gate, client, shown, texts, contents, isTrue } = await begin();
  gate.isHeld = true;
  const reposted = client.repost(contents[0]);
  assert.deepEqual([texts(), shown()[0].isDraft, shown()[0].content.repostOf.viewerHasReposted, shown()[0].content.repostOf.repostCount], [["one", "two"], true, true, 1]);
  gate.go();
  assert.deepEqual(await reposted, []);
  assert.deepEqual([texts(), shown()[0].isDraft], [["one", "two"], false]);
  await isTrue();
  const takenBack = client.unrepost(contents[0]);
  assert.equal(texts()[0], "two");
  assert.deepEqual(await takenBack, []);
  await until("the original is back", () => texts().join() === "two,one");
  assert.equal(shown()[1].content.viewerHasReposted, false);
  await isTrue();
});

test("whoever is unfollowed is gone at once, is back if that fails, and comes back when followed again", async () => {
  const { gate, client, texts, bob, isTrue } = await begin();
  gate.isBroken = true;
  const failed = client.unfollow(bob.id);
  assert.deepEqual(texts(), []);
  await assert.rejects(failed);
  assert.deepEqual(texts(), ["two", "one"]);
  gate.isBroken = false;
  assert.deepEqual(await client.unfollow(bob.id), []);
  assert.deepEqual(texts(), []);
  assert.deepEqual(await client.follow(bob.id), []);
  await until("all of theirs is back", () => texts().join() === "two,one");
  await isTrue();
});

test("a content that is watched by itself, and the viewer, change with what the viewer does", async () => {
  const { client, contents, bob } = await begin();
  const [content, { viewer }] = [client.content(contents[0]), client];
  for (const one of [content, viewer]) watch(one);
  await until("both are read", () => content.getSnapshot().value?.text === "one" && viewer.getSnapshot().value?.followingCount === 1);
  await client.like(contents[0]);
  assert.deepEqual([content.getSnapshot().value.viewerHasLiked, content.getSnapshot().value.likeCount], [true, 1]);
  await client.unfollow(bob.id);
  await until("they follow nobody", () => viewer.getSnapshot().value.followingCount === 0);
  assert.equal(content.getSnapshot().value.author.viewerIsFollowing, false);
});

test("what was refused for load is asked again, a change that is not repeated otherwise, too", { timeout: 60_000 }, async () => {
  const ann = await register("ann");
  const sent = [];
  const overloaded = () => new Response(JSON.stringify({ errors: [{ message: "Too much.", extensions: { code: "OVERLOADED", retryAfter: 1 } }] }), { status: 503, headers: { "retry-after": "1" } });
  const refusing = (url, init) => {
    sent.push(JSON.parse(init.body).query);
    return sent.length < 3 ? Promise.resolve(overloaded()) : fetch(url, init);
  };
  const client = clientOf(ann, server.address, { fetch: refusing });
  const publishing = "mutation($text: String!) { publishContent(input: { text: $text }) { timelineEdge { node { text } } } }";
  const { publishContent } = await client.request(publishing, { text: "late" }, { safe: false });
  assert.deepEqual([publishContent.timelineEdge.node.text, sent], ["late", [publishing, publishing, publishing]]);
});
