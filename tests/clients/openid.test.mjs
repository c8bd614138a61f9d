// Signing in where a real OpenID Connect issuer does that, whose keys change: its tokens are taken as they are, whoever the product brings
// first is who signs in, and a profile follows its claims.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Issuer, signingKey } from "./issuer.mjs";
import { bearer, start, until } from "./server.mjs";

const KEY = `tfs_${"k".repeat(43)}`;
const VIEWER = "{ viewer { id handle name avatarUrl } }";
const [first, second] = [signingKey("first"), signingKey("second")];
const issuer = await Issuer.atFreePort();
const signIn = (subject) => issuer.signIn(subject);

await issuer.begin([first], { 42: { preferred_username: "mara", name: "Mara", picture: "https://a.example/1.png", updated_at: 1_700_000_000 } });
const server = await start({
  "issuer.url": issuer.url, "issuer.audience": "feed", "issuer.jwks_url": `${issuer.url}/jwks`, "issuer.only": true, "issuer.sync": "newer", "issuer.unknown_key_wait_s": 1, "issuer.keys_s": 10,
  "auth.revocation_s": 1, "service.key": KEY, "service.scopes": "users,read",
});
const shown = async (token) => (await server.data(VIEWER, {}, token)).viewer;

test("whom a real issuer signs in is who the product brings", async () => {
  const { upsertUsers } = await server.data("mutation { upsertUsers(input: { users: [{ externalId: \"42\", handle: \"early\", asOf: \"2023-11-01T00:00:00.000Z\" }] }) { results { user { id } } } }", {}, KEY);
  const token = await signIn("42");
  assert.deepEqual(await shown(token), { id: upsertUsers.results[0].user.id, handle: "mara", name: "Mara", avatarUrl: "https://a.example/1.png" });
});

test("its keys rotate, and a profile follows its claims", async () => {
  const old = await signIn("42");
  const { id } = await shown(old);
  await issuer.begin([second, first], { 42: { preferred_username: "mara", name: "Mara M.", updated_at: 1_750_000_000 } });
  const token = await signIn("42");
  await until("the new key is known", async () => (await server.post({ query: VIEWER }, bearer(token))).status === 200);
  const { viewer } = await server.data(VIEWER, {}, token);
  assert.deepEqual(viewer, { id, handle: "mara", name: "Mara M.", avatarUrl: "https://a.example/1.png" });
  assert.equal((await shown(old)).name, "Mara M.", "the former key is published, and its token is older");
  await issuer.begin([second], {});
  await until("the withdrawn key is forgotten", async () => (await server.post({ query: VIEWER }, bearer(old))).status === 401);
  assert.equal((await shown(token)).id, id);
});

test("who is deactivated is signed in nowhere", async () => {
  const token = await signIn("7");
  const { id } = await shown(token);
  const set = (mutation) => server.data(`mutation { ${mutation}(input: { userId: "ext:7" }) { user { id state } userErrors { code } } }`, {}, KEY);
  assert.deepEqual((await set("deactivateUser")).deactivateUser, { user: { id, state: "DEACTIVATED" }, userErrors: [] });
  await until("it is noticed", async () => (await server.post({ query: VIEWER }, bearer(token))).status === 401);
  await set("reactivateUser");
  assert.equal((await shown(token)).id, id);
});
