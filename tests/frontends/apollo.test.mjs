// Apollo Client as docs/frontend.md sets it up: through a hundred contents, while others publish; and a list that stays true.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { filter, firstValueFrom } from "rxjs";
import WebSocket from "ws";
import { moduleOf } from "./guide.mjs";
import { live } from "./live-list.mjs";
import { goOnPublishing, newestFirst, sessionOf, settle, textsOf } from "./world.mjs";

test("Apollo pages through a hundred contents while others publish, and then up to the newest", async () => {
  const { TIMELINE, createApollo, readNewer, readOlder } = await moduleOf("apollo.mjs");
  const world = await settle();
  const client = createApollo({ server: world.server.address, session: await sessionOf(world.server, world.reader), webSocketImpl: WebSocket });
  const stop = goOnPublishing(world);
  const query = client.watchQuery({ query: TIMELINE, variables: { first: 7 } });
  const subscription = query.subscribe({});
  await firstValueFrom(query.pipe(filter(({ dataState }) => dataState === "complete")));
  const cached = () => client.readQuery({ query: TIMELINE, variables: { first: 7 } }).timeline;
  while (cached().pageInfo.hasNextPage) await readOlder(query, cached().pageInfo);
  const meanwhile = await stop();
  assert.ok(meanwhile > 0, "nobody published meanwhile");
  assert.deepEqual(textsOf(cached()).filter((text) => text.startsWith("content")), world.texts);
  do await readNewer(query, cached().pageInfo);
  while (cached().pageInfo.hasPreviousPage);
  assert.deepEqual(textsOf(cached()), [...newestFirst(meanwhile), ...world.texts]);
  subscription.unsubscribe();
  client.stop();
});

test("Apollo's cached timeline stays true while things come and go, and while its connection is away", () => live(async ({ server, reader }, webSocketImpl, show) => {
  const { TIMELINE, createApollo, followTimeline, publish, readOlder } = await moduleOf("apollo.mjs");
  const { shown: shownOf } = await moduleOf("feed.mjs");
  const client = createApollo({ server: server.address, session: await sessionOf(server, reader), webSocketImpl });
  const query = client.watchQuery({ query: TIMELINE, variables: { first: 7 } });
  let pageInfo;
  const subscription = query.subscribe(({ data, dataState }) => {
    if (dataState !== "complete") return;
    pageInfo = data.timeline.pageInfo;
    show(shownOf(data.timeline.edges));
  });
  const leave = followTimeline(client);
  after(() => {
    leave();
    subscription.unsubscribe();
    client.stop();
  });
  return { older: () => readOlder(query, pageInfo), publish: (text) => publish(client, text) };
}));
