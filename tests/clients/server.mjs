// A server of the test's own: the binary (TIDEFEED_BIN) on SQLite in a folder of its own, on a port that was free, configured by
// environment variables. Ended with the test file. Knows no protocol beyond plain requests.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { after } from "node:test";

const binary = process.env.TIDEFEED_BIN;
if (binary === undefined) throw new Error("TIDEFEED_BIN is not set. Build the binary and name it, or run scripts/clients.sh.");

/** Longer than anything takes on a busy machine. */
export const PATIENCE_MS = 180_000;
export const PASSWORD = "correct horse battery";

/** Starts a node; `settings`: keys of the configuration, such as { "websocket.ping_ms": 200 }. */
export async function start(settings = {}) {
  const folder = mkdtempSync(path.join(tmpdir(), "tidefeed-clients-"));
  const given = { "server.listen": "127.0.0.1:0", "log.format": "json", ...settings };
  const name = (key) => `TIDEFEED__${key.replaceAll(".", "__").toUpperCase()}`;
  const env = Object.fromEntries(Object.entries(given).map(([key, value]) => [name(key), String(value)]));
  const node = spawn(path.resolve(binary), ["serve"], { cwd: folder, env, stdio: ["ignore", "ignore", "pipe"] });
  const log = [];
  const ended = once(node, "exit");
  const stop = async (signal = "SIGTERM") => {
    if (node.exitCode === null && node.signalCode === null) node.kill(signal);
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  after(() => stop("SIGKILL"));
  const hang = () => node.kill("SIGSTOP");
  const goOn = () => node.kill("SIGCONT");
  const address = await new Promise((resolve, reject) => {
    createInterface({ input: node.stderr }).on("line", (line) => {
      log.push(line);
      // No other line is parsed: the last one of a server that is killed may be cut short.
      if (line.startsWith("{") && line.includes("\"Serving")) resolve(JSON.parse(line).address);
    }).on("close", () => { reject(new Error(`the server ended:\n${log.join("\n")}`)); });
  });
  return Object.assign(new Server(address, { log, stop, hang, goOn }), { pid: node.pid });
}

class Server {
  /** `control`: its log's lines, and what ends it, makes it hang (SIGSTOP) and go on. */
  constructor(address, control) {
    Object.assign(this, { address, ...control, url: `http://${address}/graphql`, ws: `ws://${address}/graphql/ws` });
  }

  /** Status and JSON of a POST. */
  async post(body, headers = {}) {
    const response = await fetch(this.url, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
    return { status: response.status, headers: response.headers, json: await response.json() };
  }

  /** The value of a measurement without labels; undefined if it was never measured. */
  async metric(name) {
    const text = await (await fetch(`http://${this.address}/metrics`)).text();
    const line = text.split("\n").find((it) => it.startsWith(`${name} `));
    return line === undefined ? undefined : Number(line.split(" ")[1]);
  }

  /** The data of an operation that succeeds. */
  async data(query, variables = {}, token = undefined) {
    const { json } = await this.post({ query, variables }, token === undefined ? {} : bearer(token));
    assert.equal(json.errors, undefined, JSON.stringify(json.errors));
    return json.data;
  }

  /** A new user's id, token, and what `signIn` would answer. */
  async register(handle) {
    const input = { handle, name: handle, password: PASSWORD };
    const query = "mutation($input: RegisterUserInput!) { registerUser(input: $input) { user { id } token expiresAt refreshToken userErrors { message } } }";
    const { registerUser } = await this.data(query, { input });
    assert.deepEqual(registerUser.userErrors, []);
    const { user, token, expiresAt, refreshToken } = registerUser;
    return { id: user.id, token, handle, tokens: { token, expiresAt, refreshToken } };
  }

  publish(author, text) {
    return this.data("mutation($text: String!) { publishContent(input: { text: $text }) { userErrors { message } } }", { text }, author.token);
  }
}

export function bearer(token) {
  return { authorization: `Bearer ${token}` };
}

/** `promise`, or a failure that says what was waited for. */
export async function within(what, promise, limit = PATIENCE_MS) {
  let timer;
  const late = new Promise((_, reject) => { timer = setTimeout(() => { reject(new Error(`still not: ${what}`)); }, limit); });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Tries until it is so. */
export async function until(what, isSo) {
  const deadline = Date.now() + PATIENCE_MS;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`still not: ${what}`);
    await new Promise((resolve) => { setTimeout(resolve, 10); });
  }
}
