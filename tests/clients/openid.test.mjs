// Signing in where a real OpenID Connect issuer does that, whose keys change: its tokens are taken as they are, whoever the product brings
// first is who signs in, and a profile follows its claims.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";
import { after, test } from "node:test";
import { bearer, start, until } from "./server.mjs";

const KEY = `tfs_${"k".repeat(43)}`;
const VIEWER = "{ viewer { id handle name avatarUrl } }";
const key = (kid) => ({ ...generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" }), kid, use: "sig", alg: "ES256" });
const [first, second] = [key("first"), key("second")];

async function freePort() {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const { port } = taken.address();
  taken.close();
  await once(taken, "close");
  return port;
}

const port = await freePort();
const issuer = `http://127.0.0.1:${port}`;
let running;

/** Starts the issuer, in the former one's place. */
async function issue(keys, people) {
  running?.kill();
  if (running !== undefined) await once(running, "exit");
  running = spawn(process.execPath, ["oidc.mjs", String(port), JSON.stringify({ keys }), JSON.stringify(people)], { cwd: import.meta.dirname, stdio: ["ignore", "ignore", "inherit", "ipc"] });
  await once(running, "message");
}
after(() => running?.kill());

/** The token that a browser would bring back after its user has signed in and agreed. */
async function signIn(subject) {
  const cookies = new Map();
  const visit = async (url, form) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(new URL(url, issuer), { redirect: "manual", headers: { cookie }, ...(form && { method: "POST", body: new URLSearchParams(form) }) });
    for (const set of response.headers.getSetCookie()) {
      const [name, value] = set.split(";")[0].split(/=(.*)/s);
      cookies.set(name, value);
    }
    return response.headers.get("location") ?? assert.fail(`${url}: ${response.status} ${await response.text()}`);
  };
  const asked = new URLSearchParams({ client_id: "feed", response_type: "id_token", scope: "openid profile", redirect_uri: "https://feed.example/back", nonce: String(Math.random()) });
  let at = await visit(`/auth?${asked}`);
  for (const form of [{ prompt: "login", login: subject, password: "any" }, { prompt: "consent" }]) at = await visit(await visit(at, form));
  return new URLSearchParams(new URL(at).hash.slice(1)).get("id_token") ?? assert.fail(at);
}

await issue([first], { 42: { preferred_username: "mara", name: "Mara", picture: "https://a.example/1.png", updated_at: 1_700_000_000 } });
const server = await start({
  "issuer.url": issuer, "issuer.audience": "feed", "issuer.jwks_url": `${issuer}/jwks`, "issuer.only": true, "issuer.sync": "newer", "issuer.unknown_key_wait_s": 1, "issuer.keys_s": 10,
  "auth.revocation_s": 1, "service.key": KEY, "service.scopes": "users,read",
});
const shown = async (token) => (await server.data(VIEWER, {}, token)).viewer;

test("whom a real issuer signs in is who the product brings", async () => {
  const { upsertUsers } = await server.data("mutation { upsertUsers(input: { users: [{ externalId: \"42\", handle: \"early\" }] }) { results { user { id } } } }", {}, KEY);
  const token = await signIn("42");
  assert.deepEqual(await shown(token), { id: upsertUsers.results[0].user.id, handle: "mara", name: "Mara", avatarUrl: "https://a.example/1.png" });
});

test("its keys rotate, and a profile follows its claims", async () => {
  const old = await signIn("42");
  const { id } = await shown(old);
  await issue([second, first], { 42: { preferred_username: "mara", name: "Mara M.", updated_at: 1_750_000_000 } });
  const token = await signIn("42");
  await until("the new key is known", async () => (await server.post({ query: VIEWER }, bearer(token))).status === 200);
  const { viewer } = await server.data(VIEWER, {}, token);
  assert.deepEqual(viewer, { id, handle: "mara", name: "Mara M.", avatarUrl: "https://a.example/1.png" });
  assert.equal((await shown(old)).name, "Mara M.", "the former key is published, and its token is older");
  await issue([second], {});
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
