// What goes wrong in the first minutes with the package is said in a sentence that names it: the address, the platform, who answered.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { createTidefeed, memoryStore } from "../dist/index.js";
import { startServer } from "./world.mjs";

/** A client at `url`, for nobody. */
const at = (url) => createTidefeed({ url, store: memoryStore() });

/** What a request at `url`, and a sign-in there, are told. */
async function told(context, url) {
  const client = at(url);
  context.after(client.close);
  const request = client.request("mutation { signOut { endedSessionCount } }");
  const said = await Promise.all([request, client.session.signIn({ handle: "ann", password: "a" })].map((one) => one.then(() => "It has succeeded.", ({ message }) => message)));
  assert.equal(said[0], said[1]);
  return said[0];
}

// Before any other client is made: it is said once in a process.
test("a platform without a WebSocket is told once what is missing", (context) => {
  const { WebSocket } = globalThis;
  delete globalThis.WebSocket;
  context.after(() => { if (WebSocket !== undefined) globalThis.WebSocket = WebSocket; });
  const warn = context.mock.method(console, "warn", () => {});
  createTidefeed({ url: "http://127.0.0.1:8080", store: memoryStore(), webSocketImpl: class {} });
  assert.equal(warn.mock.callCount(), 0);
  for (let times = 0; times < 2; times += 1) at("http://127.0.0.1:8080");
  assert.equal(warn.mock.callCount(), 1);
  assert.match(warn.mock.calls[0].arguments[0], /Install the package "ws" and pass its class as webSocketImpl/);
});

test("a url that cannot be a server's is refused at once", () => {
  for (const url of ["127.0.0.1:8080", "localhost:8080", "ws://127.0.0.1:8080", "/feed", ""]) {
    assert.throws(() => at(url), { message: `The url "${url}" has to begin with http:// or https://.` });
  }
  for (const url of ["http://127.0.0.1:8080/graphql", "https://feed.example.org/graphql/"]) {
    assert.throws(() => at(url), { message: `The url "${url}" has to end before /graphql.` });
  }
});

test("a port where nobody listens is named", async (context) => {
  const listener = createServer();
  await new Promise((resolve) => { listener.listen(0, "127.0.0.1", resolve); });
  const url = `http://127.0.0.1:${listener.address().port}`;
  await new Promise((resolve) => { listener.close(resolve); });
  assert.equal(await told(context, url), `Nobody answers at ${url}/graphql: ECONNREFUSED.`);
});

test("another server than Tidefeed is named with what it answers", async (context) => {
  const server = await startServer();
  assert.equal(await told(context, `http://${server.address}/elsewhere`), `http://${server.address}/elsewhere/graphql answered 404, and no GraphQL.`);
});
