// A WebSocket without a client library's manners: sends what it is told, and keeps all that it hears in order.
import assert from "node:assert/strict";
import WebSocket from "ws";
import { within } from "./server.mjs";

export class Socket {
  /** Opens; `options` go to ws, `protocols` to the server. */
  static async open(server, options = {}, protocols = ["graphql-transport-ws"]) {
    const raw = new WebSocket(server.ws, protocols, options);
    const it = new Socket(raw);
    await within("open", new Promise((resolve, reject) => { raw.on("open", resolve).on("error", reject); }));
    return it;
  }

  /** Opens, and is acknowledged. */
  static async ready(server, token = undefined, options = {}) {
    const socket = await Socket.open(server, options);
    socket.say({ type: "connection_init", ...(token === undefined ? {} : { payload: { authorization: `Bearer ${token}` } }) });
    await socket.hears({ type: "connection_ack" });
    return socket;
  }

  constructor(raw) {
    this.raw = raw;
    this.heard = [];
    this.waiting = [];
    this.closed = new Promise((resolve) => { raw.on("close", (code, reason) => { resolve({ code, reason: String(reason) }); }); });
    raw.on("message", (data, isBinary) => { this.#take(isBinary ? { binary: data } : JSON.parse(String(data))); });
    raw.on("error", () => { /* The close says it. */ });
    this.closed.then((close) => { this.#take({ closed: close.code }); });
  }

  #take(message) {
    const waiter = this.waiting.shift();
    if (waiter === undefined) this.heard.push(message);
    else waiter(message);
  }

  say(message) { this.raw.send(typeof message === "string" || Buffer.isBuffer(message) ? message : JSON.stringify(message)); }

  subscribe(id, query, more = {}) { this.say({ id, type: "subscribe", payload: { query, ...more } }); }

  /** The next message, or { closed: code }. */
  next() {
    const message = this.heard.shift();
    if (message !== undefined) return Promise.resolve(message);
    return within("a message", new Promise((resolve) => { this.waiting.push(resolve); }));
  }

  async hears(...messages) {
    for (const message of messages) assert.deepEqual(await this.next(), message);
  }

  /** All messages about this operation up to its end; others may come between. */
  async whole(id) {
    const messages = [];
    for (;;) {
      const message = await this.next();
      assert.equal(message.closed, undefined, `closed with ${message.closed}`);
      if (message.id !== id) continue;
      messages.push(message);
      if (message.type !== "next") return messages;
    }
  }

  /** What has been said so far was read and answered, and nothing else has come. */
  async quiet(round = Math.random().toString(36)) {
    this.say({ type: "ping", payload: { round } });
    await this.hears({ type: "pong", payload: { round } });
  }

  async closesWith(code, why = undefined) {
    const close = await within(`closing with ${code}`, this.closed);
    assert.equal(close.code, code, `${close.code} ${close.reason}`);
    if (why !== undefined) assert.match(close.reason, why);
    return close;
  }

  close(code = 1000) {
    this.raw.close(code);
    return within("closing", this.closed);
  }
}
