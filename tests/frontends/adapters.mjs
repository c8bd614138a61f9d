// What the list of @tidefeed/client has to do in whichever library's cache, beside staying true (live-list.mjs).
import assert from "node:assert/strict";
import { after } from "node:test";
import { until } from "../clients/server.mjs";
import { clientOf, publish, settle, textsOf } from "./world.mjs";

const CONTENT = "query One($id: ID!) { content(id: $id) { id viewerHasLiked likeCount } }";

/**
 * `begin({ tidefeed, url, timelines })` sets the library up with the whole timeline and that of replies, and gives
 * `watch(text, variables, show)`: a query of the library's own; `whole()`, `ofKinds(kinds)`: the cached timelines, null for nobody's;
 * `drafts()`: the keys of drafts that are in the cache.
 */
export async function listOf(begin) {
  const { server, reader, authors, texts } = await settle({}, 8);
  const replied = await publish(server, authors[0], "a reply", await publish(server, authors[1], "a question"));
  assert.ok(replied);
  const tidefeed = clientOf(server, reader);
  const timelines = [tidefeed.timeline({ first: 5 }), tidefeed.timeline({ kinds: ["REPLY"] })];
  const library = await begin({ tidefeed, url: `http://${server.address}`, timelines });
  const whole = () => textsOf(library.whole() ?? { edges: [] });
  await until("the list is in the cache", () => whole().join() === ["a reply", "a question", ...texts.slice(0, 3)].join());
  await until("that of replies is, too", () => textsOf(library.ofKinds(["REPLY"]) ?? { edges: [] }).join() === "a reply");
  assert.equal(library.whole().pageInfo.hasNextPage, true);

  const { id } = library.whole().edges[1].node;
  let one = null;
  library.watch(CONTENT, { id }, (data) => { one = data.content; });
  await until("a query of the library's own is answered", () => one?.viewerHasLiked === false);
  assert.deepEqual(await tidefeed.like(id), []);
  await until("it shows what the viewer has done", () => one.viewerHasLiked === true && one.likeCount === 1);

  let hadDraft = false;
  const end = timelines[0].subscribe(() => { hadDraft ||= library.drafts().length > 0; });
  after(end);
  assert.deepEqual(await tidefeed.publish({ text: "of my own" }), []);
  await until("what was published is shown", () => whole()[0] === "of my own" && library.whole().edges[0].cursor !== "");
  assert.ok(hadDraft, "no draft was shown");
  await until("the draft has gone", () => library.drafts().length === 0);

  tidefeed.session.signOut();
  await until("nothing is left of the list", () => library.whole() === null && library.ofKinds(["REPLY"]) === null);
}
