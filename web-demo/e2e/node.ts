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
  /** Ends it at once, and starts it again on the same address and files when `again` is called. */
  crash: () => Promise<{ again: () => Promise<void> }>;
  end: () => Promise<void>;
}

export async function startNode(): Promise<Node> {
  const folder = mkdtempSync(path.join(tmpdir(), "tidefeed-e2e-"));
  async function run(listen: string) {
    const env = { TIDEFEED__SERVER__LISTEN: listen, TIDEFEED__LOG__FORMAT: "json" };
    const node = spawn(path.resolve(process.env.TIDEFEED_BIN ?? BUILT), ["serve"], { cwd: folder, env, stdio: ["ignore", "ignore", "pipe"] });
    const address = await new Promise<string>((resolve, reject) => {
      createInterface({ input: node.stderr }).on("line", (line) => {
        if (line.includes("\"Serving")) resolve((JSON.parse(line) as { address: string }).address);
      }).on("close", () => { reject(new Error("the server ended before it served")); });
    });
    return { node, address, ended: once(node, "exit") };
  }
  let { node, address, ended } = await run("127.0.0.1:0");
  async function kill() {
    node.kill("SIGKILL");
    await ended;
  }
  return {
    address,
    hang: () => { node.kill("SIGSTOP"); },
    goOn: () => { node.kill("SIGCONT"); },
    crash: async () => {
      await kill();
      return { again: async () => { ({ node, address, ended } = await run(address)); } };
    },
    end: async () => {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
