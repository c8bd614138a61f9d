// Apollo Client: the adapter of @tidefeed/client as docs/frontend.md sets it up, and Apollo's own pagination, through a hundred contents while others publish.
import { ApolloClient, HttpLink, InMemoryCache, gql } from "@apollo/client";
import { relayStylePagination } from "@apollo/client/utilities";
import { TIMELINE, TIMELINE_OF_KINDS, keepInCache } from "@tidefeed/client/apollo";
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { listOf } from "./adapters.mjs";
import { moduleOf } from "./guide.mjs";
import { live } from "./live-list.mjs";
import { clientOf, goOnPublishing, newestFirst, sessionOf, settle, textsOf } from "./world.mjs";

const PAGES = gql`query Pages($first: Int, $after: String, $last: Int, $before: String) {
  timeline(first: $first, after: $after, last: $last, before: $before) {
    edges { cursor node { id text } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  }
}`;

const pages = relayStylePagination();
/** Apollo writes `endCursor` into the last edge, although a page may end below it, and then cuts off what has come back in between. */
const timelinePages = {
  ...pages,
  merge(existing, incoming, options) {
    if (!incoming?.pageInfo?.endCursor || options.args?.before) return pages.merge(existing, incoming, options);
    const { endCursor } = incoming.pageInfo;
    const merged = pages.merge(existing, { ...incoming, pageInfo: { ...incoming.pageInfo, endCursor: "" } }, options);
    return { ...merged, pageInfo: { ...merged.pageInfo, endCursor } };
  },
};

test("Apollo's own pagination reads a hundred contents while others publish, and then up to the newest", async () => {
  const world = await settle();
  const session = await sessionOf(world.server, world.reader);
  const cache = new InMemoryCache({ typePolicies: { Query: { fields: { timeline: timelinePages } } } });
  const client = new ApolloClient({ link: new HttpLink({ uri: world.server.url, fetch: session.fetch }), cache });
  const stop = goOnPublishing(world);
  await client.query({ query: PAGES, variables: { first: 7 } });
  const cached = () => client.readQuery({ query: PAGES }).timeline;
  const read = (variables) => client.query({ query: PAGES, variables, fetchPolicy: "network-only" });
  while (cached().pageInfo.hasNextPage) await read({ first: 7, after: cached().pageInfo.endCursor });
  const meanwhile = await stop();
  assert.ok(meanwhile > 0, "nobody published meanwhile");
  assert.deepEqual(textsOf(cached()).filter((text) => text.startsWith("content")), world.texts);
  do await read({ last: 7, before: cached().pageInfo.startCursor });
  while (cached().pageInfo.hasPreviousPage);
  assert.deepEqual(textsOf(cached()), [...newestFirst(meanwhile), ...world.texts]);
  client.stop();
});

test("the list in Apollo's cache stays true while things come and go, and while its connection is away", () => live(async ({ server, reader }, webSocketImpl, show) => {
  const { createApollo, showTimeline } = await moduleOf("apollo.mjs");
  const tidefeed = clientOf(server, reader, { webSocketImpl });
  const timeline = tidefeed.timeline({ first: 7, settleMs: 50 });
  const client = createApollo(tidefeed, `http://${server.address}`);
  after(() => client.stop());
  after(showTimeline(client, timeline, show));
  return { older: timeline.loadOlder, publish: (text) => tidefeed.publish({ text }) };
}));

test("what the viewer does shows in every query of Apollo's, drafts leave nothing behind, and a list of some kinds is one of its own", () => listOf(async ({ tidefeed, url, timelines }) => {
  const { createApollo } = await moduleOf("apollo.mjs");
  const client = createApollo(tidefeed, url);
  after(() => client.stop());
  for (const timeline of timelines) after(keepInCache(timeline, client.cache));
  return {
    watch(text, variables, show) {
      const shown = client.watchQuery({ query: gql(text), variables }).subscribe(({ data, dataState }) => { if (dataState === "complete") show(data); });
      after(() => shown.unsubscribe());
    },
    whole: () => client.readQuery({ query: TIMELINE })?.timeline,
    ofKinds: (kinds) => client.readQuery({ query: TIMELINE_OF_KINDS, variables: { kinds } })?.timeline,
    drafts: () => Object.keys(client.cache.extract()).filter((key) => key.includes("draft:")),
  };
}));
