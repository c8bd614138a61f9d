// urql with Graphcache as docs/frontend.md sets it up: through a hundred contents, while others publish.
import assert from "node:assert/strict";
import { test } from "node:test";
import { moduleOf } from "./guide.mjs";
import { goOnPublishing, newestFirst, settle, textsOf } from "./world.mjs";

test("urql pages through a hundred contents while others publish, and then up to the newest", async () => {
  const { TIMELINE, createUrql } = await moduleOf("urql.mjs");
  const world = await settle();
  const client = createUrql(world.server.address, world.reader.token);
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
