// A WebSocket client that makes its frames by hand (RFC 6455), right ones and wrong ones, and reads whatever the server sends.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import { within } from "./server.mjs";

export const TEXT = 1;
export const BINARY = 2;
export const CONTINUATION = 0;
export const CLOSE = 8;
export const PING = 9;
export const PONG = 10;

/** The bytes of a frame. `length`: what it says about its length, if that is not the truth. */
export function frame(opcode, payload = "", { fin = true, rsv = 0, masked = true, length } = {}) {
  const body = Buffer.from(payload);
  const told = length ?? body.length;
  const head = [(fin ? 0x80 : 0) | (rsv << 4) | opcode];
  const mask = masked ? 0x80 : 0;
  if (told < 126) head.push(mask | told);
  else if (told < 65_536) head.push(mask | 126, told >> 8, told & 0xff);
  else head.push(mask | 127, ...Buffer.from(BigInt(told).toString(16).padStart(16, "0"), "hex"));
  if (!masked) return Buffer.concat([Buffer.from(head), body]);
  const key = randomBytes(4);
  return Buffer.concat([Buffer.from(head), key, body.map((byte, index) => byte ^ key[index % 4])]);
}

export class Frames {
  /** Sends an upgrade request as it should be, but for `headers`; `status` is what the server answered. */
  static async open(server, headers = {}, method = "GET") {
    const [host, port] = server.address.split(":");
    const it = new Frames(connect(Number(port), host));
    const given = {
      "Host": server.address,
      "Connection": "Upgrade",
      "Upgrade": "websocket",
      "Sec-WebSocket-Version": "13",
      "Sec-WebSocket-Key": randomBytes(16).toString("base64"),
      "Sec-WebSocket-Protocol": "graphql-transport-ws",
      ...headers,
    };
    const lines = Object.entries(given).filter(([, value]) => value !== null).map(([name, value]) => `${name}: ${value}`);
    it.raw.write(`${method} /graphql/ws HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
    await it.#has(() => it.buffer.includes("\r\n\r\n"), "an answer to the upgrade");
    const end = it.buffer.indexOf("\r\n\r\n");
    it.head = it.buffer.toString("latin1", 0, end).split("\r\n");
    it.status = Number(it.buffer.toString("latin1", 0, end).split(" ")[1]);
    it.buffer = it.buffer.subarray(end + 4);
    return it;
  }

  /** Upgraded and acknowledged. */
  static async ready(server) {
    const it = await Frames.open(server);
    assert.equal(it.status, 101);
    it.send(frame(TEXT, JSON.stringify({ type: "connection_init" })));
    await it.hears({ type: "connection_ack" });
    return it;
  }

  constructor(raw) {
    this.raw = raw;
    this.buffer = Buffer.alloc(0);
    this.ended = false;
    this.wake = () => {};
    raw.on("data", (data) => { this.buffer = Buffer.concat([this.buffer, data]); this.wake(); });
    raw.on("error", () => { /* The end says it. */ });
    raw.on("close", () => { this.ended = true; this.wake(); });
  }

  async #has(enough, what) {
    while (!enough()) {
      if (this.ended) return false;
      await within(what, new Promise((resolve) => { this.wake = resolve; }));
    }
    return true;
  }

  send(...frames) { this.raw.write(Buffer.concat(frames)); }

  /** The next frame; null when the server has ended the connection. */
  async next() {
    const header = () => {
      if (this.buffer.length < 2) return null;
      const short = this.buffer[1] & 0x7f;
      const size = short === 126 ? 4 : short === 127 ? 10 : 2;
      if (this.buffer.length < size) return null;
      const length = short === 126 ? this.buffer.readUInt16BE(2) : short === 127 ? Number(this.buffer.readBigUInt64BE(2)) : short;
      return { size, length };
    };
    const whole = () => { const head = header(); return head !== null && this.buffer.length >= head.size + head.length; };
    if (!await this.#has(whole, "a frame")) return null;
    const { size, length } = header();
    const [first, second] = this.buffer;
    const payload = Buffer.from(this.buffer.subarray(size, size + length));
    this.buffer = this.buffer.subarray(size + length);
    return { fin: (first & 0x80) !== 0, rsv: (first >> 4) & 7, opcode: first & 0xf, masked: (second & 0x80) !== 0, payload };
  }

  /** The next frame that is no ping of the server's. */
  async nextButPing() {
    for (;;) {
      const heard = await this.next();
      if (heard?.opcode !== PING) return heard;
    }
  }

  async hears(message) {
    const { opcode, payload } = await this.nextButPing();
    assert.equal(opcode, TEXT);
    assert.deepEqual(JSON.parse(String(payload)), message);
  }

  /** The server closes with one of these codes, and then ends the connection. */
  async closesWith(...codes) {
    const heard = await this.nextButPing();
    assert.equal(heard?.opcode, CLOSE, "a close frame");
    const code = heard.payload.readUInt16BE(0);
    assert.ok(codes.includes(code), `${code} ${heard.payload.subarray(2)}`);
    this.send(frame(CLOSE, heard.payload.subarray(0, 2)));
    while (await this.next() !== null);
    return code;
  }

  leave() { this.raw.destroy(); }
}
