// A watched query: it shows what the viewer does wherever that stands in it, grows page by page, and is taken back with what fails.
import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "graphql";
import WebSocket from "ws";
import { bearer, PASSWORD, until } from "../../../tests/clients/server.mjs";
import { keepCurrent } from "../dist/current.js";
import { clientOf, mutate, NOBODY, peopleOf, publish, startServer, watch } from "./world.mjs";

const KEY = `tfs_${"k".repeat(43)}`;
const server = await startServer({ "service.key": KEY, "service.scopes": "act_as,contents" });
const register = peopleOf(server);

const PROFILE = `query($handle: String!, $after: String) { user(handle: $handle) { id handle name viewerIsFollowing viewerHasMuted viewerIsHiding
  contents(first: 2, after: $after) { edges { cursor node { id subjectId text viewerHasLiked viewerHasReposted likeCount repostCount replyCount bookmarkCount author { id handle viewerIsFollowing } } }
    pageInfo { hasNextPage endCursor } } } }`;

async function begin() {
  const [ann, bob] = [await register("ann"), await register("bob")];
  const contents = [];
  for (const text of ["one", "two", "three"]) contents.push(await publish(server, text, bob));
  const gate = { isBroken: false };
  const fetching = (url, init) => {
    if (gate.isBroken) throw new TypeError("The line was cut.");
    return fetch(url, init);
  };
  const client = clientOf(ann, server.address, { fetch: fetching });
  const query = client.query(PROFILE, { handle: bob.handle }, { outdatedBy: ({ published }) => published != null });
  watch(query);
  const value = () => query.getSnapshot().value?.user;
  const texts = () => value()?.contents.edges.map(({ node }) => node.text);
  const nodeOf = (id) => value().contents.edges.find(({ node }) => node.id === id)?.node;
  await until("it is read", () => texts()?.join() === "three,two");
  return { ann, bob, contents, gate, client, query, value, texts, nodeOf };
}

test("pages are joined, each edge once, and are read again as many as there are", async () => {
  const { bob, client, query, texts } = await begin();
  assert.equal(query.getSnapshot().hasMore, true);
  await Promise.all([query.loadMore(), query.loadMore()]);
  assert.deepEqual([texts(), query.getSnapshot().hasMore], [["three", "two", "one"], false]);
  await publish(server, "four", bob);
  await query.refresh();
  assert.deepEqual(texts(), ["four", "three", "two", "one"]);
  assert.equal(client.query(PROFILE, { handle: bob.handle }), query, "who asks the same gets the same");
});

test("a page that does not come says so, and comes when it is asked for again", { timeout: 60_000 }, async () => {
  const { gate, query, texts } = await begin();
  gate.isBroken = true;
  await query.loadMore();
  assert.deepEqual([query.getSnapshot().moreError?.code, texts().length, query.getSnapshot().isLoadingMore], ["UNREACHABLE", 2, false]);
  gate.isBroken = false;
  await query.loadMore();
  assert.deepEqual([query.getSnapshot().moreError, texts().length], [null, 3]);
});

test("a like and a follow show at once, and not when they fail", { timeout: 60_000 }, async () => {
  const { bob, contents, gate, client, value, nodeOf } = await begin();
  const liked = client.like(contents[2]);
  assert.deepEqual([nodeOf(contents[2]).viewerHasLiked, nodeOf(contents[2]).likeCount], [true, 1]);
  await liked;
  assert.deepEqual([nodeOf(contents[2]).viewerHasLiked, nodeOf(contents[2]).likeCount], [true, 1]);
  gate.isBroken = true;
  const failing = client.follow(bob.id);
  assert.deepEqual([value().viewerIsFollowing, nodeOf(contents[2]).author.viewerIsFollowing], [true, true]);
  await assert.rejects(failing);
  assert.deepEqual([value().viewerIsFollowing, nodeOf(contents[2]).author.viewerIsFollowing], [false, false]);
});

test("what a mutation answers stands where that user stands, and nothing that was not asked for", async () => {
  const { bob, client, value } = await begin();
  await client.mute(bob.id);
  await client.hide(bob.id);
  assert.deepEqual([value().viewerHasMuted, value().viewerIsHiding, "followerCount" in value()], [true, true, false]);
  await client.unhide(bob.id);
  assert.equal(value().viewerIsHiding, false);
  client.tell({ user: { id: bob.id, name: "Bob of the Bay" } });
  assert.equal(value().name, "Bob of the Bay");
});

test("what the viewer deletes leaves, and what makes it outdated has it read again", async () => {
  const ann = await register("ann");
  const id = await publish(server, "mine", ann);
  const client = clientOf(ann, server.address);
  const query = client.query(PROFILE, { handle: ann.handle }, { outdatedBy: ({ published }) => published != null });
  watch(query);
  const texts = () => query.getSnapshot().value?.user.contents.edges.map(({ node }) => node.text).join();
  await until("it is read", () => texts() === "mine");
  const removing = client.remove(id);
  assert.equal(texts(), "");
  assert.deepEqual(await removing, []);
  await client.publish({ text: "another" });
  await until("it is read again", () => texts() === "another");
});

test("a list of one kind has its own kind alone, live, and what another kind folds away stays in it", async () => {
  const [ann, bob] = [await register("ann"), await register("bob")];
  await mutate(server, "followUser", { userId: bob.id }, ann);
  const first = await publish(server, "a post", bob);
  const client = clientOf(ann, server.address);
  const [posts, reposts] = ["POST", "REPOST"].map((kind) => client.timeline({ kinds: [kind], settleMs: 50 }));
  for (const one of [posts, reposts]) watch(one);
  const textsOf = (one) => one.getSnapshot().entries.map(({ content }) => content.repostOf?.text ?? content.text).join();
  await until("they are read and live", () => [posts, reposts].every((one) => one.getSnapshot().status === "ready") && client.connection.getSnapshot() === "live");
  await mutate(server, "repostContent", { contentId: first }, bob);
  await until("the repost has come", () => textsOf(reposts) === "a post");
  const second = await publish(server, "another post", bob);
  await until("the post has come", () => textsOf(posts) === "another post,a post");
  assert.equal(textsOf(reposts), "a post");
  await mutate(server, "deleteContent", { contentId: second }, bob);
  await until("the post has gone", () => textsOf(posts) === "a post" && posts.getSnapshot().isSettled);
});

test("a reader far down keeps their place when more than a page comes at once", async () => {
  const [ann, bob, cat] = [await register("ann"), await register("bob"), await register("cat")];
  await mutate(server, "followUser", { userId: bob.id }, ann);
  for (let number = 0; number < 5; number += 1) await publish(server, `seen ${number}`, bob);
  const client = clientOf(ann, server.address);
  const timeline = client.timeline({ holdNew: true, settleMs: 50 });
  watch(timeline);
  const texts = () => timeline.getSnapshot().entries.map(({ content }) => content.text);
  await until("it is live", () => texts().length === 5 && client.connection.getSnapshot() === "live");
  for (let number = 0; number < 100; number += 1) await publish(server, `new ${number}`, cat);
  await mutate(server, "followUser", { userId: cat.id }, ann);
  await until("all of it waits", () => timeline.getSnapshot().newCount === 100);
  assert.deepEqual(texts(), ["seen 4", "seen 3", "seen 2", "seen 1", "seen 0"]);
  timeline.showNew();
  assert.deepEqual([texts().length, texts()[0]], [105, "new 99"]);
});

test("a document that is a tree, or a text with types, is sent as its text", async () => {
  const ann = await register("ann");
  const client = clientOf(ann, server.address);
  const text = "query Whoami($handle: String!) { user(handle: $handle) { name } }";
  class TypedText extends String {}
  for (const document of [text, new TypedText(text), parse(text, { noLocation: true })]) {
    assert.deepEqual(await client.request(document, { handle: ann.handle }), { user: { name: ann.handle } });
    const query = client.query(document, { handle: ann.handle });
    watch(query);
    await until("it is read", () => query.getSnapshot().value?.user.name === ann.handle);
    assert.equal(client.query(document, { handle: ann.handle }), query);
  }
});

test("what a product says of a content is taken for no content", async () => {
  const [ann, bob] = [await register("ann"), await register("bob")];
  const id = await publish(server, "a run", bob);
  const attributes = { id, subjectId: id, likeCount: 0, viewerHasLiked: false, viewerHasReposted: false, edges: [null], pageInfo: {} };
  const PUBLISH = "mutation($input: PublishContentInput!) { publishContent(input: $input) { userErrors { message } } }";
  const input = { text: "its map", externalId: "map", attributes };
  const { json } = await server.post({ query: PUBLISH, variables: { input } }, { ...bearer(KEY), "tidefeed-act-as": bob.id });
  assert.deepEqual(json.data?.publishContent.userErrors, [], JSON.stringify(json));
  const client = clientOf(ann, server.address);
  const query = client.query("query($id: ID!) { map: contentByExternalId(externalId: \"map\") { id attributes } run: content(id: $id) { id subjectId likeCount viewerHasLiked viewerHasReposted } }", { id });
  watch(query);
  await until("it is read", () => query.getSnapshot().value?.run.likeCount === 0);
  await client.like(id);
  await until("it is liked", () => query.getSnapshot().value.run.likeCount === 1);
  assert.deepEqual(query.getSnapshot().value.map.attributes, attributes);
});

test("what is shown stays current without an account, on a socket that is open while something is, and then for who signs in", async () => {
  const [ann, bob] = [await register("ann"), await register("bob")];
  const id = await publish(server, "for all to see", bob);
  const sockets = [];
  class Counted extends WebSocket {
    constructor(...given) {
      super(...given);
      sockets.push(this);
    }
  }
  const client = keepCurrent(clientOf(NOBODY, server.address, { webSocketImpl: Counted }));
  const query = client.query("query($id: ID!) { content(id: $id) { id subjectId likeCount viewerHasLiked viewerHasReposted } }", { id });
  const shown = () => query.getSnapshot().value?.content;
  const isLive = () => client.connection.getSnapshot() === "live";
  assert.deepEqual([sockets.length, client.connection.getSnapshot()], [0, "idle"]);
  const end = watch(query);
  await until("it is read and live", () => shown()?.likeCount === 0 && isLive());
  await mutate(server, "likeContent", { contentId: id }, bob);
  await until("the like is seen", () => shown().likeCount === 1);
  assert.equal(shown().viewerHasLiked, null);
  assert.deepEqual(await client.session.signIn({ handle: ann.handle, password: PASSWORD }), []);
  await until("it is the viewer's", () => shown().viewerHasLiked === false && isLive());
  await mutate(server, "likeContent", { contentId: id }, ann);
  await until("what they do elsewhere is seen", () => shown().viewerHasLiked === true && shown().likeCount === 2);
  assert.equal(sockets.length, 2);
  end();
  await until("nothing is heard", () => sockets.every(({ readyState }) => readyState === WebSocket.CLOSED) && client.connection.getSnapshot() === "idle");
});
