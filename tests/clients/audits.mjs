// graphql-http's audits of GraphQL over HTTP, against a running server (TIDEFEED_URL): every one has to pass.
import { serverAudits } from "graphql-http";
import { test } from "node:test";
import assert from "node:assert/strict";

const server = process.env.TIDEFEED_URL;
if (server === undefined) throw new Error("TIDEFEED_URL is not set. Name a running server: TIDEFEED_URL=http://127.0.0.1:8080 npm test");

for (const audit of serverAudits({ url: `${server}/graphql` })) {
  test(`${audit.id} ${audit.name}`, async () => {
    const result = await audit.fn();
    assert.equal(result.status, "ok", result.reason);
  });
}
