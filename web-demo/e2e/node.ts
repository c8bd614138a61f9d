// A server of a test's own, which may be made to hang: the binary (TIDEFEED_BIN) on SQLite in a folder that goes with it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";

const BUILT = path.resolve(import.meta.dirname, "../../target/debug/tidefeed");

export interface Node {
  /** host:port. */
  address: string;
  /** It neither answers nor closes anything until it goes on (SIGSTOP). */
  hang: () => void;
  goOn: () => void;
  end: () => Promise<void>;
}

export async function startNode(): Promise<Node> {
  const folder = mkdtempSync(path.join(tmpdir(), "tidefeed-e2e-"));
  const env = { TIDEFEED__SERVER__LISTEN: "127.0.0.1:0", TIDEFEED__LOG__FORMAT: "json" };
  const node = spawn(path.resolve(process.env.TIDEFEED_BIN ?? BUILT), ["serve"], { cwd: folder, env, stdio: ["ignore", "ignore", "pipe"] });
  const ended = once(node, "exit");
  const address = await new Promise<string>((resolve, reject) => {
    createInterface({ input: node.stderr }).on("line", (line) => {
      if (line.includes("\"Serving")) resolve((JSON.parse(line) as { address: string }).address);
    }).on("close", () => { reject(new Error("the server ended before it served")); });
  });
  return {
    address,
    hang: () => { node.kill("SIGSTOP"); },
    goOn: () => { node.kill("SIGCONT"); },
    end: async () => {
      node.kill("SIGKILL");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
