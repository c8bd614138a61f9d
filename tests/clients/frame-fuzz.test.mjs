// Soups of frames: whatever bytes a client sends, the server answers or closes in the words of the protocol, says no fault of its own, and
// serves the next one. Seeded (SEED); a failure names the seed and the connection.
import assert from "node:assert/strict";
import { test } from "node:test";
import { CLOSE, Frames, PONG, TEXT, frame } from "./frames.mjs";
import { start, within } from "./server.mjs";

const CONNECTIONS = 400;
const FRAMES = 8;
const SEED = Number(process.env.SEED ?? 1);
const CODES = [1000, 1002, 1007, 1009, 3000, 4400, 4401, 4408, 4409, 4429];

/** mulberry32 */
function randoms(seed) {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const MESSAGES = [
  { type: "connection_init" }, { type: "connection_init", payload: {} }, { type: "ping" }, { type: "ping", payload: { a: 1 } }, { type: "pong" },
  { type: "subscribe", id: "1", payload: { query: "{ __typename }" } }, { type: "subscribe", id: "2", payload: { query: "{" } },
  { type: "subscribe", id: "1", payload: { query: "subscription { newFeed { __typename } }" } }, { type: "subscribe", id: "3", payload: { query: "{ a ".repeat(40) } },
  { type: "complete", id: "1" }, { type: "complete", id: "2" }, { type: "next" }, [], "text", null,
].map((message) => JSON.stringify(message));

function sequence(random) {
  const pick = (list) => list[random(list.length)];
  const text = pick(MESSAGES);
  switch (random(10)) {
    case 0: return Buffer.from(Array.from({ length: random(40) }, () => random(256)));
    case 1: return frame(random(16), text, { fin: random(2) === 0, rsv: pick([0, 0, 1, 4]), masked: random(4) > 0 });
    case 2: return frame(TEXT, text, { length: pick([0, 1, 125, 126, 65_535, 2 ** 33]) });
    case 3: return Buffer.concat([frame(TEXT, text.slice(0, 3), { fin: false }), frame(0, text.slice(3))]);
    case 4: return frame(TEXT, Buffer.from(text).map((byte) => (random(12) === 0 ? random(256) : byte)));
    case 5: return frame(pick([CLOSE, PONG, 9]), Buffer.from(Array.from({ length: random(130) }, () => random(256))));
    default: return frame(TEXT, text);
  }
}

const server = await start({ "server.max_body_bytes": 4096 });

test(`${CONNECTIONS} connections of ${FRAMES} random sequences each, SEED=${SEED}`, async () => {
  const ends = new Map();
  for (let connection = 0; connection < CONNECTIONS; connection += 1) {
    const random = randoms(SEED + connection);
    const client = await Frames.open(server);
    assert.equal(client.status, 101);
    for (let count = 0; count < FRAMES; count += 1) client.send(sequence(random));
    client.send(frame(CLOSE, Buffer.from([0x03, 0xe8])));
    client.raw.end();
    let end = "without a word";
    for (let heard = await client.next(); heard !== null; heard = await client.next()) {
      assert.ok(!heard.masked && heard.rsv === 0, `SEED=${SEED}, connection ${connection}`);
      if (heard.opcode === TEXT) assert.ok(!String(heard.payload).includes("INTERNAL_SERVER_ERROR"), `SEED=${SEED}, connection ${connection}: ${heard.payload}`);
      if (heard.opcode === CLOSE) end = heard.payload.length < 2 ? "empty" : heard.payload.readUInt16BE(0);
    }
    assert.ok(typeof end === "string" || CODES.includes(end) || end >= 3000, `SEED=${SEED}, connection ${connection}: closed with ${end}`);
    ends.set(end, (ends.get(end) ?? 0) + 1);
  }
  console.log(`# ${CONNECTIONS * FRAMES} random sequences; closed with ${JSON.stringify(Object.fromEntries(ends))}`);
  assert.ok(ends.size >= 4, "the sequences reach several ends");
});
test("after them the server serves as before, and has logged no panic", async () => {
  const client = await within("a socket", Frames.ready(server));
  client.leave();
  assert.equal((await server.data("{ __typename }")).__typename, "Query");
  assert.deepEqual(server.log.filter((line) => /panic|"level":"ERROR"/.test(line)), []);
});
