// Apollo Client as docs/frontend.md sets it up: through a hundred contents, while others publish.
import assert from "node:assert/strict";
import { test } from "node:test";
import { filter, firstValueFrom } from "rxjs";
import { moduleOf } from "./guide.mjs";
import { goOnPublishing, newestFirst, settle, textsOf } from "./world.mjs";

test("Apollo pages through a hundred contents while others publish, and then up to the newest", async () => {
  const { TIMELINE, createApollo, readNewer, readOlder } = await moduleOf("apollo.mjs");
  const world = await settle();
  const client = createApollo(world.server.address, world.reader.token);
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
