// The examples of docs/frontend.md that are no library's: curl, WebSocket frames, server-sent events, and a live list that survives its server.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { buildSchema, getNamedType, isObjectType } from "graphql";
import WebSocket from "ws";
import { start, until, within } from "../clients/server.mjs";
import { fileOf, moduleOf, namesOf, textOf } from "./guide.mjs";
import { live } from "./live-list.mjs";
import { publish, sessionOf } from "./world.mjs";

/** `timeline.mjs` is run by the package that it shows: clients/typescript. */
const USED = ["timeline.mjs", "sign-in.sh", "session.mjs", "search.sh", "feed.mjs", "live.mjs", "frames.jsonl", "stream.sh", "export.mjs", "watched-fetch.mjs", "apollo.mjs", "urql.mjs", "relay.jsx", "codegen.ts", "Profile.tsx", "uploads.mjs", "Composer.tsx"];

test("every example of the guide is run", () => {
  assert.deepEqual(namesOf().toSorted(), USED.toSorted());
});

test("every script of the documents is one for sh", () => {
  const root = new URL("../../", import.meta.url);
  const documents = ["README.md", "CONTRIBUTING.md", ...readdirSync(new URL("docs/", root)).filter((name) => name.endsWith(".md")).map((name) => `docs/${name}`)];
  const scripts = documents.flatMap((name) => [...readFileSync(new URL(name, root), "utf8").matchAll(/^```sh.*\n([\s\S]*?)^```$/gm)].map(([, text]) => [name, text]));
  assert.ok(scripts.length > 5, `${scripts.length} scripts`);
  for (const [name, text] of scripts) {
    assert.doesNotMatch(text, /<<<|\[\[|<\(|\$'|\bfunction /, name);
    assert.doesNotThrow(() => execFileSync("sh", ["-n"], { input: text, stdio: "pipe" }), `${name}: ${text}`);
  }
});

test("curl registers, publishes, reads and refreshes", async () => {
  const server = await start();
  const env = { ...process.env, SERVER: `http://${server.address}` };
  const said = execFileSync("sh", ["-eu", fileURLToPath(fileOf("sign-in.sh"))], { env, encoding: "utf8" });
  const [published, read, refreshed] = said.trim().split(/(?<=\})(?=\{)/).map((answer) => JSON.parse(answer).data);
  assert.deepEqual(published.publishContent.userErrors, []);
  assert.deepEqual(read.timeline.edges.map(({ node }) => node.text), ["Low tide at six."]);
  assert.deepEqual(refreshed.refreshToken.userErrors, []);
  assert.ok(refreshed.refreshToken.token.length > 20);
});

test("curl finds Chinese text", async () => {
  const server = await start();
  const author = await server.register("author");
  for (const text of ["今天看潮汐", "今天看海"]) await publish(server, author, text);
  const env = { ...process.env, SERVER: `http://${server.address}` };
  const { data } = JSON.parse(execFileSync("sh", ["-eu", fileURLToPath(fileOf("search.sh"))], { env, encoding: "utf8" }));
  assert.deepEqual(data.search.nodes.map(({ text, author: { handle } }) => [text, handle]), [["今天看潮汐", "author"]]);
  assert.equal(data.search.pageInfo.hasNextPage, false);
});

test("a WebSocket's frames, typed by hand, bring what is published", async () => {
  const server = await start();
  const author = await server.register("author");
  const socket = new WebSocket(server.ws, "graphql-transport-ws");
  after(() => socket.terminate());
  const heard = [];
  socket.on("message", (message) => heard.push(JSON.parse(message)));
  await once(socket, "open");
  for (const frame of textOf("frames.jsonl").trim().split("\n")) socket.send(frame.replace("TOKEN", author.token));
  const texts = () => heard.filter(({ type }) => type === "next").map(({ payload }) => payload.data.newFeed.timelineEdge?.node.text);
  await until("it is heard", async () => {
    await publish(server, author, "over the wire");
    return texts().includes("over the wire");
  });
});

test("curl hears what is published over server-sent events", async () => {
  const server = await start();
  const author = await server.register("author");
  const env = { ...process.env, SERVER: `http://${server.address}`, TOKEN: author.token };
  const curl = spawn("sh", [fileURLToPath(fileOf("stream.sh"))], { env, stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(curl, "close");
  after(async () => {
    await server.stop("SIGKILL");
    await within("curl has ended with its server", ended);
  });
  const lines = [];
  createInterface({ input: curl.stdout }).on("line", (line) => lines.push(line));
  await until("it is heard", async () => {
    await publish(server, author, "over the stream");
    return lines.some((line) => line.startsWith("data:") && line.includes("over the stream"));
  });
});

test("everything that the API lists of the viewer is taken along", async () => {
  const server = await start({ "rate_limit.viewer_points": 100_000_000 });
  const [mara, ...others] = [await server.register("mara")];
  for (const handle of ["followed", "muted", "blocked", "hidden"]) others.push(await server.register(handle));
  const [followed, muted, blocked, hidden] = others;
  const texts = [];
  for (let number = 0; number < 103; number += 1) {
    texts.unshift(`post ${number}`);
    await publish(server, mara, texts[0]);
  }
  const liked = [];
  for (const text of ["liked", "kept"]) liked.push(await publish(server, followed, text));
  const act = (verb, input, who = mara) => server.data(`mutation { ${verb}(input: ${input}) { userErrors { message } } }`, {}, who.token);
  await act("likeContent", `{ contentId: "${liked[0]}" }`);
  await act("bookmarkContent", `{ contentId: "${liked[1]}" }`);
  for (const [verb, { id }] of [["followUser", followed], ["muteUser", muted], ["blockUser", blocked], ["hideFromFollower", hidden]]) await act(verb, `{ userId: "${id}" }`);
  await act("followUser", `{ userId: "${mara.id}" }`, followed);

  const { exportLink, exported } = await moduleOf("export.mjs");
  const signed = (url, init) => fetch(url, { ...init, headers: { ...init.headers, authorization: `Bearer ${mara.token}` } });
  const link = await exportLink(`http://${server.address}`, signed);
  const taken = await exported(link);
  assert.equal(taken.complete, true);
  assert.equal(taken.profile.handle, "mara");
  assert.equal(taken.sessions.length, 1);
  assert.deepEqual(taken.contents.map(({ text }) => text), texts);
  assert.deepEqual([taken.likes, taken.bookmarks].map((list) => list.map(({ content }) => content.text)), [["liked"], ["kept"]]);
  const people = [taken.following, taken.followers, taken.mutedUsers, taken.blockedUsers, taken.hiddenFollowers];
  assert.deepEqual(people.map((list) => list.map(({ user }) => user.handle)), [["followed"], ["followed"], ["muted"], ["blocked"], ["hidden"]]);
  await assert.rejects(exported(`${link}x`), /exportViewer/);

  // Whatever else the API comes to list of a user has to be taken along, too.
  const schema = buildSchema(readFileSync(new URL("../../schema.graphql", import.meta.url), "utf8"));
  const lists = Object.values(schema.getType("User").getFields()).filter(({ type }) => isObjectType(getNamedType(type))).map(({ name }) => name);
  const amongContents = "mediaContents";
  const known = [...Object.keys(taken), ...Object.keys(taken.profile), amongContents];
  assert.deepEqual(lists.filter((name) => !known.includes(name)), []);
});

test("a live list without a library stays true while things come and go, and while its connection is away", () => live(async ({ server, reader }, webSocketImpl, show) => {
  const { followTimeline } = await moduleOf("live.mjs");
  after(followTimeline({ url: `http://${server.address}`, session: await sessionOf(server, reader), webSocketImpl, first: 7, show }));
  return {};
}));
