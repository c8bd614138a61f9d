// What the scripts of `make` say before they begin with what takes minutes.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { PATIENCE_MS } from "../clients/server.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));

test("all tools that are missing are named at once", (context) => {
  const tools = mkdtempSync(path.join(tmpdir(), "tidefeed-tools-"));
  context.after(() => rmSync(tools, { recursive: true, force: true }));
  symlinkSync("/usr/bin/dirname", path.join(tools, "dirname"));
  const { status, stderr } = spawnSync("/bin/bash", ["scripts/run.sh"], { cwd: root, env: { PATH: tools }, encoding: "utf8" });
  assert.equal(status, 1);
  for (const tool of ["cargo", "node", "npm"]) assert.match(stderr, new RegExp(`^\\*\\*\\* ${tool} is missing`, "m"));
});

test("a port that another process uses is noticed before anything is built", async (context) => {
  const taken = createServer().listen(0, "127.0.0.1");
  context.after(() => taken.close());
  await once(taken, "listening");
  for (const script of ["run.sh", "run-servers.sh"]) {
    const env = { ...process.env, PORT: String(taken.address().port) };
    const { status, stdout, stderr } = spawnSync("bash", [`scripts/${script}`], { cwd: root, env, encoding: "utf8", timeout: PATIENCE_MS });
    assert.deepEqual([status, stdout], [1, ""], script);
    assert.match(stderr, /Another process uses port \d+\. Choose another one: make run PORT=9000/);
  }
});
