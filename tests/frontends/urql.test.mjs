// urql: the adapter of @tidefeed/client as docs/frontend.md sets it up, and Graphcache's own pagination, through a hundred contents while others publish.
import { Client, cacheExchange as documentCache, fetchExchange, gql } from "@urql/core";
import { cacheExchange } from "@urql/exchange-graphcache";
import { relayPagination } from "@urql/exchange-graphcache/extras";
import { TIMELINE, TIMELINE_OF_KINDS, timelineExchange } from "@tidefeed/client/urql";
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { until } from "../clients/server.mjs";
import { listOf } from "./adapters.mjs";
import { moduleOf } from "./guide.mjs";
import { live } from "./live-list.mjs";
import { clientOf, goOnPublishing, newestFirst, publish, sessionOf, settle, textsOf } from "./world.mjs";

const PAGES = gql`query Pages($first: Int, $after: String, $last: Int, $before: String) {
  timeline(first: $first, after: $after, last: $last, before: $before) {
    edges { cursor node { id text } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  }
}`;

test("Graphcache's own pagination reads a hundred contents while others publish, and then up to the newest", async () => {
  const world = await settle();
  const session = await sessionOf(world.server, world.reader);
  const cache = cacheExchange({ resolvers: { Query: { timeline: relayPagination({ mergeMode: "outwards" }) } } });
  const client = new Client({ url: world.server.url, preferGetMethod: false, fetch: session.fetch, exchanges: [cache, fetchExchange] });
  const page = async (variables) => {
    const { data, error } = await client.query(PAGES, variables).toPromise();
    assert.equal(error, undefined);
    return data.timeline;
  };
  const stop = goOnPublishing(world);
  let timeline = await page({ first: 7 });
  while (timeline.pageInfo.hasNextPage) timeline = await page({ first: 7, after: timeline.pageInfo.endCursor });
  const meanwhile = await stop();
  assert.ok(meanwhile > 0, "nobody published meanwhile");
  assert.deepEqual(textsOf(timeline).filter((text) => text.startsWith("content")), world.texts);
  do timeline = await page({ last: 7, before: timeline.pageInfo.startCursor });
  while (timeline.pageInfo.hasPreviousPage);
  assert.deepEqual(textsOf(timeline), [...newestFirst(meanwhile), ...world.texts]);
});

test("the list in urql's cache stays true while things come and go, and while its connection is away", () => live(async ({ server, reader }, webSocketImpl, show) => {
  const { createUrql, showTimeline } = await moduleOf("urql.mjs");
  const tidefeed = clientOf(server, reader, { webSocketImpl });
  const timeline = tidefeed.timeline({ first: 7, settleMs: 50 });
  after(showTimeline(createUrql(tidefeed, `http://${server.address}`, [timeline]), show));
  return { older: timeline.loadOlder, publish: (text) => tidefeed.publish({ text }) };
}));

test("what the viewer does shows in every query of urql's, drafts leave nothing behind, and a list of some kinds is one of its own", () => listOf(async ({ tidefeed, url, timelines }) => {
  const { createUrql } = await moduleOf("urql.mjs");
  const client = createUrql(tidefeed, url, timelines);
  const watch = (query, variables, show) => {
    const { unsubscribe } = client.query(query, variables).subscribe(({ data, error }) => {
      assert.equal(error, undefined);
      if (data) show(data);
    });
    after(unsubscribe);
  };
  let [whole, ofReplies] = [null, null];
  watch(TIMELINE, {}, (data) => { whole = data.timeline; });
  watch(TIMELINE_OF_KINDS, { kinds: ["REPLY"] }, (data) => { ofReplies = data.timeline; });
  return {
    watch: (text, variables, show) => watch(gql(text), variables, show),
    whole: () => whole,
    ofKinds: () => ofReplies,
    drafts: () => whole?.edges.filter(({ node }) => node.id.startsWith("draft:")) ?? [],
  };
}));

for (const [name, cache] of [["Graphcache", cacheExchange({ keys: { Media: () => null } })], ["urql's cache of documents", documentCache]]) {
  test(`a list in ${name} that is left and shown again goes on, and so does a second one beside it`, async () => {
    const { server, reader, authors, texts } = await settle({}, 3);
    const tidefeed = clientOf(server, reader);
    const client = new Client({
      url: server.url, preferGetMethod: false, fetch: tidefeed.session.fetch, exchanges: [timelineExchange({ timelines: [tidefeed.timeline()], cache }), fetchExchange],
    });
    const shown = [[], []];
    const show = (at) => client.query(TIMELINE, {}).subscribe(({ data }) => { shown[at] = textsOf(data?.timeline ?? { edges: [] }); });
    const first = show(0);
    await until("it is shown", () => shown[0].join() === texts.join());
    first.unsubscribe();
    await publish(server, authors[0], "while nobody looked");
    const [again, second] = [show(0), show(1)];
    await until("both have it", () => shown.every(([newest]) => newest === "while nobody looked"));
    await publish(server, authors[0], "live");
    await until("both hear what comes", () => shown.every(([newest]) => newest === "live"));
    again.unsubscribe();
    await publish(server, authors[0], "for the second");
    await until("the second goes on", () => shown[1][0] === "for the second");
    assert.equal(shown[0][0], "live");
    second.unsubscribe();
  });
}
