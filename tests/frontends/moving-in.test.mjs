// The worked story of docs/moving-in.md, from its own text: a product with an issuer and an export of GetStream moves in, and goes on.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import WebSocket from "ws";
import { Issuer, signingKey } from "../clients/issuer.mjs";
import { bearer, start, until } from "../clients/server.mjs";
import { startServers } from "../clients/servers.mjs";

/** People of the product. */
const PEOPLE = Number(process.env.PEOPLE ?? 1000);
/** How many each follows; user 0 follows three. */
const FOLLOWED = Number(process.env.FOLLOWED ?? 3);
const BEGAN = Date.parse("2019-05-01T08:00:00Z");

const story = readFileSync(new URL("../../docs/moving-in.md", import.meta.url), "utf8");
const example = (name) => new RegExp(`^\`\`\`\\w+ ${RegExp.escape?.(name) ?? name.replaceAll(".", "\\.")}\\n([\\s\\S]*?)^\`\`\`$`, "m").exec(story)?.[1] ?? assert.fail(name);

// Node has a WebSocket of its own from 22 on.
globalThis.WebSocket ??= WebSocket;
// Beside this file's packages, so that the client's own is found.
const folder = new URL(".guide/", import.meta.url);
mkdirSync(folder, { recursive: true });
const timelineModule = new URL(`moving-in-${process.pid}.mjs`, folder);
writeFileSync(timelineModule, example("timeline.mjs"));
after(() => rmSync(timelineModule));
const { openTimeline } = await import(timelineModule.href);

/** GetStream's export: everybody posts once, one after the other, and follows the next ones. */
function exported() {
  const at = (seconds) => new Date(BEGAN + seconds * 1000).toISOString();
  const lines = [];
  for (let user = 0; user < PEOPLE; user += 1) {
    const [id, feed] = [`u-${user}`, `user:u-${user}`];
    lines.push({ type: "user", data: { id, role: "user", custom: { name: `User ${user}` }, created_at: at(0) } });
    lines.push({ type: "feed", data: { group_id: "user", id, fid: feed, created_by_id: id, visibility: "visible", created_at: at(0) } });
    lines.push({ type: "activity", data: { id: `p-${user}`, type: "post", user_id: id, fids: [feed], text: `Post ${user}`, visibility: "public", created_at: at(user + 1) } });
    for (let next = 1; next <= (user === 0 ? 3 : FOLLOWED); next += 1) {
      lines.push({ type: "follow", data: { source_fid: `timeline:${id}`, target_fid: `user:u-${(user + next) % PEOPLE}`, status: "accepted", created_at: at(0) } });
    }
  }
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

/** The timeline of user 0, newest first. */
const TIMELINE = [3, 2, 1, 0].map((user) => `Post ${user}`);

async function moveIn(place) {
  const issuer = await Issuer.atFreePort();
  await issuer.begin([signingKey("one")], { "u-0": { name: "User 0" }, "u-2": { name: "User 2" } });
  const home = mkdtempSync(path.join(tmpdir(), "tidefeed-moving-in-"));
  const settings = {
    "store.url": `sqlite://${path.join(home, "feed.db")}`, ...(await place(home)), "auth.secret": "a secret that is long enough for this test", "auth.revocation_s": 1,
    ...Object.fromEntries([...example("story.toml").matchAll(/^(\w+) = "?([^"#\n]*[^"#\s])/gm)].map(([, key, value]) => [`issuer.${key}`, value.replace("https://id.product.example", issuer.url)])),
  };
  // The script names the command `tidefeed`.
  const [bin, name] = [path.join(home, "bin"), (key) => `TIDEFEED__${key.replaceAll(".", "__").toUpperCase()}`];
  mkdirSync(bin);
  writeFileSync(path.join(bin, "tidefeed"), `#!/bin/sh\nexec '${path.resolve(process.env.TIDEFEED_BIN)}' "$@"\n`, { mode: 0o755 });
  writeFileSync(path.join(home, "getstream.jq"), example("getstream.jq"));
  writeFileSync(path.join(home, "export.ndjson"), exported());
  const env = { ...Object.fromEntries(Object.entries(settings).map(([key, value]) => [name(key), value])), PATH: `${bin}:${process.env.PATH}` };
  execFileSync("sh", ["-eu", "-c", example("load.sh")], { cwd: home, env, stdio: ["ignore", "ignore", "inherit"] });
  const server = await start(settings);
  // When its servers have ended, or are about to.
  after(() => rmSync(home, { recursive: true, force: true, maxRetries: 50 }));
  return { issuer, server, key: readFileSync(path.join(home, "backend.key"), "utf8").trim() };
}

// Before the tests: what is to end with the file ends when no test is left.
const moved = { SQLite: await moveIn(() => ({})), "MariaDB with Redis": await moveIn(startServers) };

for (const [name, { issuer, server, key }] of Object.entries(moved)) {
  test(`a product moves in, and goes on, on ${name}`, async (context) => {
    const backend = (query, user) => server.post({ query }, { ...bearer(key), ...(user && { "tidefeed-act-as": `ext:${user}` }) });
    const say = async (file) => {
      const { json } = await backend(example(file));
      assert.equal(json.errors, undefined, JSON.stringify(json));
      const [{ results = [{}], userErrors = [] }] = Object.values(json.data);
      assert.deepEqual([...userErrors, ...results.flatMap((it) => it.userErrors ?? [])], []);
      return results[0].outcome;
    };

    let shown;
    const token = await issuer.signIn("u-0");
    const { tidefeed, timeline, unsubscribe } = openTimeline(`http://${server.address}`, () => token, (texts) => { shown = texts; });
    context.after(() => {
      unsubscribe();
      tidefeed.close();
    });
    const shows = async (what, expected) => {
      await until(what, () => JSON.stringify(shown) === JSON.stringify(expected));
    };
    await shows("the timeline is as it was", TIMELINE);

    await until("it is live", () => tidefeed.connection.getSnapshot() === "live");
    const published = await backend("mutation { publishContent(input: { text: \"Just now\", externalId: \"p-new\" }) { userErrors { message } } }", "u-3");
    assert.deepEqual(published.json.data?.publishContent.userErrors, [], JSON.stringify(published.json));
    await until("it is heard", () => shown[0] === "Just now" || timeline.getSnapshot().newCount > 0);

    assert.equal(await say("renamed.graphql"), "UPDATED");
    const page = async () => (await server.data("{ timeline(first: 10) { nodes { text author { name } } } }", {}, token)).timeline.nodes;
    assert.equal((await page()).find(({ text }) => text === "Post 1").author.name, "Una");

    await say("gone.graphql");
    assert.deepEqual((await page()).map(({ text }) => text), ["Just now", ...TIMELINE.filter((text) => text !== "Post 2")]);
    assert.equal(await say("back.graphql"), "CREATED");
    assert.deepEqual((await page()).map(({ text }) => text), ["Just now", ...TIMELINE.filter((text) => text !== "Post 2")]);
    const again = await server.data("{ viewer { externalId handle } timeline(first: 3) { nodes { text } } }", {}, await issuer.signIn("u-2"));
    assert.deepEqual([again.viewer, again.timeline.nodes], [{ externalId: "u-2", handle: "u_2_again" }, []]);
  });
}
