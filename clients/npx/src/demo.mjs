// Serves a small world from an embedded database in the current folder.
import { existsSync } from "node:fs";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import { run } from "./run.mjs";

const FOLDER = "tidefeed-data";
const POLL_MS = 100;

/** Creates what is missing, then serves until it is ended. `given`: --port, --still. Resolves to the exit status. */
export async function demo(binary, given) {
  const { port, still } = read(given);
  const listen = `127.0.0.1:${port}`;
  const env = { ...process.env, TIDEFEED__SERVER__LISTEN: listen };
  // Without a configuration it is to be thrown away; else the store is the one that is configured.
  if (env.TIDEFEED__STORE__URL === undefined && !existsSync("tidefeed.toml")) {
    env.TIDEFEED__STORE__URL = `sqlite://${FOLDER}/tidefeed.db`;
    env.TIDEFEED__API__PUBLIC_PAGES ??= "true";
    console.error(`The database is in ${path.resolve(FOLDER)}. Delete the folder to begin anew.`);
  }
  for (const step of [["migrate"], ["seed", "--if-empty"]]) {
    const status = await run(binary, step, { env });
    if (status !== 0) return status;
  }
  const served = still ? ["serve"] : ["seed", "--if-empty", "--live"];
  return run(binary, served, { env, started: (node) => { void tellWhenReady(node, `http://${listen}`); } });
}

/** Throws an error with the usage if there is anything else. */
function read(given) {
  const usage = "Usage: npx tidefeed [demo [--port 8080] [--still]], or any command of tidefeed: npx tidefeed --help";
  try {
    const options = { port: { type: "string", default: "8080" }, still: { type: "boolean", default: false } };
    const { port, still } = parseArgs({ args: given, options }).values;
    if (/^\d+$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535) return { port, still };
  } catch { /* It is said below. */ }
  throw new Error(usage);
}

/** Prints the addresses as soon as the node is ready. */
async function tellWhenReady(node, url) {
  while (node.exitCode === null && node.signalCode === null) {
    if (await fetch(`${url}/readyz`).then(({ ok }) => ok, () => false)) {
      console.error(`\n    The page:    ${url}\n    GraphiQL:    ${url}/graphiql\n`);
      console.error("    Sign in as demo with the password demo-tidefeed. Ctrl-C ends it.\n");
      return;
    }
    await setTimeout(POLL_MS);
  }
}
