// graphql-http's audits of GraphQL over HTTP, against the binary: every one has to pass.
import assert from "node:assert/strict";
import { test } from "node:test";
import { serverAudits } from "graphql-http";
import { start } from "./server.mjs";

const server = await start();
const audits = serverAudits({ url: server.url });

for (const audit of audits) {
  test(`audit ${audit.id} ${audit.name}`, async () => {
    const result = await audit.fn();
    assert.equal(result.status, "ok", result.reason);
  });
}

test("there are 61 audits", () => { assert.equal(audits.length, 61); });
