// Tokens of an external issuer, whose keys the server fetches: asked for once by all, and anew when one is refused.
import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import { createServer } from "node:http";
import { after, test } from "node:test";
import { until } from "../../../tests/clients/server.mjs";
import { clientOf, publish, startServer, watch } from "./world.mjs";

const VIEWER = "{ viewer { handle } }";
const NOBODY = { tokens: null };

const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const keys = JSON.stringify({ keys: [{ ...publicKey.export({ format: "jwk" }), kid: "1", alg: "ES256", use: "sig" }] });
const issuer = createServer((_request, response) => { response.setHeader("content-type", "application/json").end(keys); });
await new Promise((resolve) => { issuer.listen(0, "127.0.0.1", resolve); });
after(() => issuer.close());
const url = `http://127.0.0.1:${issuer.address().port}`;
const server = await startServer({ "issuer.url": url, "issuer.audience": "feed", "issuer.jwks_url": url, "issuer.only": true });

const encoded = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
/** A token of `subject` that ends in `seconds`. A server takes it for 5 s longer. */
function issued(subject, seconds = 3600) {
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: url, aud: "feed", sub: subject, preferred_username: subject, iat: now - 3600, exp: now + seconds };
  const signed = `${encoded({ alg: "ES256", typ: "JWT", kid: "1" })}.${encoded(claims)}`;
  return `${signed}.${sign("sha256", signed, { key: privateKey, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
}

test("fifty requests at once whose token is refused renew it once", async () => {
  let [held, renewals, asked] = [issued("ann", -10), 0, 0];
  const token = async (refused) => {
    asked += 1;
    if (refused !== null) [held, renewals] = [issued("ann"), renewals + 1];
    return held;
  };
  const client = clientOf(NOBODY, server.address, { token });
  const ask = () => Promise.all(Array.from({ length: 50 }, () => client.request(VIEWER)));
  const sent = ask();
  await client.session.token();
  assert.equal(asked, 1);
  for (const answers of [await sent, await ask()]) assert.deepEqual(answers.map(({ viewer }) => viewer.handle), Array(50).fill("ann"));
  assert.equal(renewals, 1);
});

test("a list outlives the issuer's token", async () => {
  let held = issued("bob", 1);
  const client = clientOf(NOBODY, server.address, { token: (refused) => (refused === null ? held : held = issued("bob")) });
  const [timeline, states] = [client.timeline(), []];
  watch(timeline);
  watch(client.connection, () => states.push(client.connection.getSnapshot()));
  await until("its socket was closed and opened again", () => states.indexOf("live", states.indexOf("reconnecting") + 1) > 0);
  await publish(server, "after", { token: issued("bob") });
  await until("it is heard", () => timeline.getSnapshot().entries[0]?.content.text === "after");
});

test("who is signed in is whom the issuer knows, and nobody signs in elsewhere", async () => {
  let known = issued("cat");
  const client = clientOf(NOBODY, server.address, { token: () => known });
  const timeline = client.timeline();
  watch(timeline);
  await until("it is read", () => timeline.getSnapshot().status === "ready");
  known = null;
  assert.equal(await client.session.token(), null);
  assert.deepEqual([client.session.getSnapshot(), timeline.getSnapshot().status], [{ signedIn: false, ended: "signed-out" }, "idle"]);
  known = issued("cat");
  await client.session.token();
  await until("it is read again", () => timeline.getSnapshot().status === "ready");
  assert.throws(() => client.session.signIn({ handle: "cat", password: "of another place" }), /signs people in and out/);
});

test("an issuer that is away is asked again, and says why there is no token", async () => {
  let failures = 2;
  const token = async () => {
    failures -= 1;
    if (failures >= 0) throw new Error("The issuer is away.");
    return issued("dan");
  };
  assert.equal((await clientOf(NOBODY, server.address, { token }).request(VIEWER)).viewer.handle, "dan");
  failures = Infinity;
  await assert.rejects(clientOf(NOBODY, server.address, { token }).request(VIEWER, {}, { safe: false }), { code: "UNREACHABLE", message: /issuer is away/ });
});
