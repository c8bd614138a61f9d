// urql with Graphcache as docs/frontend.md sets it up: through a hundred contents, while others publish; and a list that stays true.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import WebSocket from "ws";
import { moduleOf } from "./guide.mjs";
import { live } from "./live-list.mjs";
import { goOnPublishing, newestFirst, sessionOf, settle, textsOf } from "./world.mjs";

test("urql pages through a hundred contents while others publish, and then up to the newest", async () => {
  const { TIMELINE, createUrql } = await moduleOf("urql.mjs");
  const world = await settle();
  const client = createUrql({ server: world.server.address, session: await sessionOf(world.server, world.reader), webSocketImpl: WebSocket });
  const page = async (variables) => {
    const { data, error } = await client.query(TIMELINE, variables).toPromise();
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

test("urql's cached timeline stays true while things come and go, and while its connection is away", () => live(async ({ server, reader }, webSocketImpl, show) => {
  const { TIMELINE, createUrql, followTimeline, publish } = await moduleOf("urql.mjs");
  const { shown: shownOf } = await moduleOf("feed.mjs");
  const client = createUrql({ server: server.address, session: await sessionOf(server, reader), webSocketImpl });
  let [pageInfo, shown] = [null, { unsubscribe() {} }];
  /** As a component with useQuery: the list of the page that it has read last. */
  const ask = (variables) => {
    shown.unsubscribe();
    shown = client.query(TIMELINE, variables).subscribe(({ data, error }) => {
      assert.equal(error, undefined);
      if (!data?.timeline) return;
      pageInfo = data.timeline.pageInfo;
      show(shownOf(data.timeline.edges));
    });
  };
  const leave = followTimeline(client, 7, () => ask({ first: 7 }));
  ask({ first: 7 });
  after(() => {
    leave();
    shown.unsubscribe();
  });
  return { older: () => ask({ first: 7, after: pageInfo.endCursor }), publish: (text) => publish(client, text) };
}));
