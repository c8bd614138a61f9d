// `npx tidefeed`: the packages as npm would serve them, installed from their files into an empty folder.
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { binaryOf } from "../../clients/npx/src/binary.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = mkdtempSync(path.join(tmpdir(), "tidefeed-npx-"));
const app = path.join(folder, "app");
const command = path.join(app, "node_modules/.bin/tidefeed");
/** From the command to a seeded world that is served, ms: 10 s on a machine that does nothing else, as much longer on one that has more to do than processors. */
const servedWithin = () => 10_000 * Math.max(1, loadavg()[0] / availableParallelism());
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("TIDEFEED__")));

before(() => {
  // PACKAGES: a folder in which they lie already.
  const packs = path.resolve(root, process.env.PACKAGES ?? path.join(folder, "packs"));
  if (process.env.PACKAGES === undefined) execFileSync("bash", ["scripts/npm-packages.sh", packs], { cwd: root, env: { ...env, BINARY: process.env.TIDEFEED_BIN, GITHUB_REPOSITORY: "owner/tidefeed" }, stdio: "pipe" });
  const files = readdirSync(packs).map((file) => path.join(packs, file));
  assert.equal(files.length, 2);
  mkdirSync(app);
  execFileSync("npm", ["install", "--offline", "--no-audit", "--no-fund", ...files], { cwd: app, stdio: "pipe" });
});
after(() => rmSync(folder, { recursive: true, force: true }));

test("npx tidefeed serves a small world from an empty folder", async (context) => {
  const free = createServer().listen(0, "127.0.0.1");
  await once(free, "listening");
  const { port } = free.address();
  free.close();
  const began = performance.now();
  const node = spawn(command, ["demo", "--port", String(port)], { cwd: app, env, stdio: ["ignore", "ignore", "pipe"] });
  const ended = once(node, "exit");
  context.after(() => node.kill("SIGKILL"));
  let said = "";
  for await (const part of node.stderr) {
    said += part;
    if (said.includes("Ctrl-C ends it.")) break;
  }
  assert.match(said, new RegExp(`The page: +http://127\\.0\\.0\\.1:${port}\n`), said);
  const ms = Math.round(performance.now() - began);
  context.diagnostic(`served after ${ms} ms`);
  assert.ok(ms < servedWithin(), `served after ${ms} ms`);
  const query = "mutation { signIn(input: { handle: \"demo\", password: \"demo-tidefeed\" }) { token } }";
  const ask = async (query, headers = {}) => {
    const response = await fetch(`http://127.0.0.1:${port}/graphql`, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify({ query }) });
    return (await response.json()).data;
  };
  const { signIn } = await ask(query);
  const { timeline } = await ask("{ timeline(first: 20) { edges { cursor } } }", { authorization: `Bearer ${signIn.token}` });
  assert.equal(timeline.edges.length, 20);
  assert.ok(existsSync(path.join(app, "tidefeed-data/tidefeed.db")));
  node.kill("SIGTERM");
  assert.deepEqual(await ended, [0, null]);
});

test("a package that a workflow has packed names the repository of the workflow", () => {
  const manifest = path.join(app, `node_modules/@tidefeed/cli-${process.platform}-${process.arch}/package.json`);
  assert.match(JSON.parse(readFileSync(manifest, "utf8")).repository.url, /^git\+https:.*\/tidefeed\.git$/);
});

test("any other command is the binary's, with its exit status", () => {
  const call = (...given) => spawnSync(command, given, { cwd: app, env, encoding: "utf8" });
  assert.match(call("--version").stdout, /^tidefeed \d+\.\d+\.\d+\n$/);
  const misspelt = call("sevre");
  assert.equal(misspelt.status, 2);
  assert.match(misspelt.stderr, /serve/);
  const usage = call("demo", "--port", "0");
  assert.equal(usage.status, 1);
  assert.match(usage.stderr, /^Usage: npx tidefeed/);
});

test("a platform without a binary is told which there are", () => {
  assert.throws(() => binaryOf("win32", "x64"), /no binary for win32-x64, only for .*linux-x64.*within WSL.*make release/);
  assert.throws(() => binaryOf("darwin", "arm64"), /@tidefeed\/cli-darwin-arm64.*is not installed.*without --omit=optional/);
});
