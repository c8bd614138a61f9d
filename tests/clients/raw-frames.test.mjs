// What a WebSocket server owes its clients below any subprotocol (RFC 6455), with frames made by hand.
import assert from "node:assert/strict";
import { test } from "node:test";
import { BINARY, CLOSE, CONTINUATION, Frames, PING, PONG, TEXT, frame } from "./frames.mjs";
import { start, until } from "./server.mjs";

const hasty = await start({ "websocket.ping_ms": 200, "websocket.pong_timeout_ms": 300 });
/** Gives who answers more time than a busy machine takes. */
const pinging = await start({ "websocket.ping_ms": 1000 });
const patient = await start({ "server.max_body_bytes": 4096 });
const ping = (payload) => frame(TEXT, JSON.stringify({ type: "ping", payload }));
const pong = (payload) => ({ type: "pong", payload });

for (const [what, headers, status] of [
  ["no key", { "Sec-WebSocket-Key": null }, [400]],
  ["an old version", { "Sec-WebSocket-Version": "8" }, [400, 426]],
  ["no version", { "Sec-WebSocket-Version": null }, [400, 426]],
  ["no upgrade", { "Upgrade": null }, [400, 426]],
  ["no subprotocol", { "Sec-WebSocket-Protocol": null }, [400]],
  ["another site's origin", { "Origin": "https://evil.example" }, [403]],
  ["the origin null, as a sandboxed frame has it", { "Origin": "null" }, [403]],
]) {
  test(`an upgrade with ${what} is refused`, async () => {
    const client = await Frames.open(patient, headers);
    assert.ok(status.includes(client.status), `status ${client.status}`);
    client.leave();
  });
}
test("a page of this very host may upgrade", async () => {
  const client = await Frames.open(patient, { Origin: `http://${patient.address}` });
  assert.equal(client.status, 101);
  client.leave();
});
test("what the server sends is not masked, whole and without reserved bits", async () => {
  const client = await Frames.open(patient);
  client.send(frame(TEXT, JSON.stringify({ type: "connection_init" })));
  const { fin, rsv, opcode, masked } = await client.next();
  assert.deepEqual({ fin, rsv, opcode, masked }, { fin: true, rsv: 0, opcode: TEXT, masked: false });
  client.leave();
});
test("a message in three frames is one message", async () => {
  const client = await Frames.ready(patient);
  const text = JSON.stringify({ type: "ping", payload: { text: "in three parts" } });
  client.send(frame(TEXT, text.slice(0, 5), { fin: false }));
  client.send(frame(CONTINUATION, text.slice(5, 20), { fin: false }));
  client.send(frame(CONTINUATION, text.slice(20)));
  await client.hears(pong({ text: "in three parts" }));
  client.leave();
});
test("a ping between the frames of a message is answered at once", async () => {
  const client = await Frames.ready(patient);
  const text = JSON.stringify({ type: "ping" });
  client.send(frame(TEXT, text.slice(0, 5), { fin: false }), frame(PING, "now"));
  const { opcode, payload } = await client.next();
  assert.deepEqual([opcode, String(payload)], [PONG, "now"]);
  client.send(frame(CONTINUATION, text.slice(5)));
  await client.hears({ type: "pong" });
  client.leave();
});
test("messages that come in one packet are all read, in order", async () => {
  const client = await Frames.ready(patient);
  client.send(...Array.from({ length: 20 }, (_, index) => ping({ index })));
  for (let index = 0; index < 20; index += 1) await client.hears(pong({ index }));
  client.leave();
});
test("a message that comes byte by byte is read", async () => {
  const client = await Frames.ready(patient);
  client.raw.setNoDelay(true);
  for (const byte of ping({ slow: true })) {
    client.raw.write(Buffer.from([byte]));
    await new Promise((resolve) => { setImmediate(resolve); });
  }
  await client.hears(pong({ slow: true }));
  client.leave();
});
test("an empty frame is no message, and an unasked pong is nothing", async () => {
  const client = await Frames.ready(patient);
  client.send(frame(PONG, "unasked"), ping({ after: true }));
  await client.hears(pong({ after: true }));
  client.send(frame(TEXT, ""));
  await client.closesWith(4400);
});
for (const [what, bytes, codes] of [
  ["a frame that is not masked", frame(TEXT, "{}", { masked: false }), [1002]],
  ["a reserved opcode", frame(3, "x"), [1002]],
  ["a reserved control opcode", frame(11, "x"), [1002]],
  ["a reserved bit", frame(TEXT, "{}", { rsv: 4 }), [1002]],
  ["a continuation of nothing", frame(CONTINUATION, "x"), [1002]],
  ["a message begun within another", Buffer.concat([frame(TEXT, "a", { fin: false }), frame(TEXT, "b")]), [1002]],
  ["a ping of more than 125 bytes", frame(PING, "x".repeat(126)), [1002]],
  ["a ping in parts", frame(PING, "x", { fin: false }), [1002]],
  ["a close of one byte", frame(CLOSE, "x"), [1002]],
  ["text that is not UTF-8", frame(TEXT, Buffer.from([0xff, 0xfe])), [1007]],
  ["text that is not UTF-8 across frames", Buffer.concat([frame(TEXT, Buffer.from([0xc3]), { fin: false }), frame(CONTINUATION, Buffer.from([0x28]))]), [1007]],
  ["text that ends within a character", frame(TEXT, Buffer.from([0x22, 0xc3])), [1007]],
  ["a close whose reason is not UTF-8", frame(CLOSE, Buffer.from([0x03, 0xe8, 0xff, 0xfe])), [1007]],
  ["a binary message", frame(BINARY, "{}"), [4400]],
]) {
  test(`${what} ends the connection with ${codes.join(" or ")}`, async () => {
    const client = await Frames.ready(patient);
    client.send(bytes);
    await client.closesWith(...codes);
  });
}
test("1009: a message longer than server.max_body_bytes", async () => {
  const client = await Frames.ready(patient);
  client.send(ping({ text: "x".repeat(4096) }));
  await client.closesWith(1009);
});
test("1009: a message three times as long", async () => {
  const client = await Frames.ready(patient);
  client.send(ping({ text: "x".repeat(3 * 4096) }));
  await client.closesWith(1009);
});
test("1009: a message that is longer by one byte, and never comes whole", async () => {
  for (const begun of [
    [frame(TEXT, "x", { length: 4097 })],
    [frame(TEXT, "x".repeat(4000), { fin: false }), frame(CONTINUATION, "x".repeat(97), { fin: false })],
    [frame(TEXT, "x", { fin: false }), ...Array.from({ length: 3000 }, () => frame(CONTINUATION, "", { fin: false }))],
  ]) {
    const client = await Frames.ready(patient);
    client.send(...begun);
    await client.closesWith(1009);
  }
});
test("a message that says it is an exabyte long is refused before it comes", async () => {
  const client = await Frames.ready(patient);
  client.send(frame(TEXT, "x", { length: 2 ** 50 }));
  await client.closesWith(1009);
});
test("the client's close is answered with its code, and the connection ends", async () => {
  const client = await Frames.ready(patient);
  client.send(frame(CLOSE, Buffer.from([0x03, 0xe8])));
  const { opcode, payload } = await client.next();
  assert.deepEqual([opcode, payload.readUInt16BE(0)], [CLOSE, 1000]);
  assert.equal(await client.next(), null);
});
test("nothing is answered after the client's close", async () => {
  const client = await Frames.ready(patient);
  client.send(frame(CLOSE, Buffer.from([0x03, 0xe8])), ping({ late: true }));
  assert.equal((await client.next()).opcode, CLOSE);
  assert.equal(await client.next(), null);
});
test("the subprotocol's header comes in the client's letters, which Python's gql insists on", async () => {
  for (const name of ["Sec-WebSocket-Protocol", "sec-websocket-protocol"]) {
    const client = await Frames.open(patient, { "Sec-WebSocket-Protocol": null, [name]: "graphql-transport-ws" });
    assert.ok(client.head.includes(`${name}: graphql-transport-ws`), client.head.join("\n"));
    client.leave();
  }
});
test("the server pings, and stays with who answers", async () => {
  const client = await Frames.ready(pinging);
  for (let round = 0; round < 5; round += 1) {
    const { opcode, payload } = await client.next();
    assert.equal(opcode, PING);
    client.send(frame(PONG, payload));
  }
  client.send(ping({ still: "here" }));
  await client.hears(pong({ still: "here" }));
  client.leave();
});
test("a client that answers no ping gets 4408 and is closed", async () => {
  const client = await Frames.ready(hasty);
  assert.equal((await client.next()).opcode, PING);
  const { opcode, payload } = await client.next();
  assert.deepEqual([opcode, payload.readUInt16BE(0)], [CLOSE, 4408]);
  assert.equal(await client.next(), null);
  assert.ok(client.ended);
});
test("a client that vanishes leaves nothing behind", async () => {
  await until("all others have left", async () => await patient.metric("tidefeed_websockets") === 0);
  const clients = await Promise.all(Array.from({ length: 8 }, () => Frames.ready(patient)));
  assert.equal(await patient.metric("tidefeed_websockets"), 8);
  for (const client of clients) {
    client.send(frame(TEXT, JSON.stringify({ type: "subscribe", id: "1", payload: { query: "{ __typename }" } })));
    client.raw.resetAndDestroy();
  }
  for (const gauge of ["tidefeed_websockets", "tidefeed_subscriptions"]) await until(gauge, async () => !await patient.metric(gauge));
});
