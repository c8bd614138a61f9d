// A private MariaDB and Redis on free ports of 127.0.0.1, with their files in a folder that the caller removes. Ended with the test file.
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import path from "node:path";
import { after } from "node:test";
import { freePort } from "./issuer.mjs";
import { until } from "./server.mjs";

const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` };

function begin(program, options) {
  const server = spawn(program, options, { env, stdio: "ignore" });
  after(() => server.kill("SIGKILL"));
}

/** The addresses of both, as keys of the configuration. */
export async function startServers(folder) {
  const [data, temporary, first, ready] = ["mariadb", "tmp", "first.sql", "ready"].map((name) => path.join(folder, name));
  mkdirSync(temporary);
  const user = userInfo().username;
  execFileSync("mariadb-install-db", ["--no-defaults", "--force", `--user=${user}`, `--datadir=${data}`, `--tmpdir=${temporary}`, "--skip-test-db", "--auth-root-authentication-method=normal"], { env, stdio: "ignore" });
  writeFileSync(first, "CREATE DATABASE tidefeed CHARACTER SET utf8mb4;\n");
  const [port, redis] = [await freePort(), await freePort()];
  begin("mariadbd", ["--no-defaults", `--user=${user}`, `--datadir=${data}`, `--tmpdir=${temporary}`, `--port=${port}`, "--bind-address=127.0.0.1", `--socket=${path.join(folder, "socket")}`, `--pid-file=${ready}`, "--character-set-server=utf8mb4", "--innodb-flush-log-at-trx-commit=0", `--init-file=${first}`]);
  begin("redis-server", ["--port", String(redis), "--dir", folder, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--zset-max-listpack-entries", "512"]);
  // MariaDB writes the file once it listens.
  await until("MariaDB listens", () => {
    try { return readFileSync(ready, "utf8") !== ""; } catch { return false; }
  });
  await until("Redis answers", () => spawnSync("redis-cli", ["-p", String(redis), "ping"]).status === 0);
  assert.ok(port !== redis);
  return { "store.url": `mysql://root@127.0.0.1:${port}/tidefeed`, "redis.url": `redis://127.0.0.1:${redis}` };
}
