// What a list has to live through, whichever library holds it: what comes and goes, at its place and once, also while its connection is away.
import assert from "node:assert/strict";
import WebSocket from "ws";
import { until } from "../clients/server.mjs";
import { publish, settle } from "./world.mjs";

/** More than a catch-up tells. */
const TOO_MANY = 130;
const NOBODY = "ws://127.0.0.1:1";

/** WebSockets that can be cut off; while they are `away` nobody answers. */
function line() {
  const sockets = [];
  const it = { away: false, connected: () => sockets.length };
  it.Socket = class extends WebSocket {
    constructor(url, ...more) {
      super(it.away ? NOBODY : url, ...more);
      if (!it.away) sockets.push(this);
    }
  };
  it.cut = () => {
    it.away = true;
    for (const socket of sockets) socket.terminate();
  };
  return it;
}

const mutate = (server, field, type, input, { token }) =>
  server.data(`mutation($input: ${type}!) { ${field}(input: $input) { userErrors { message } } }`, { input }, token);

/**
 * Lets a list live. `begin(world, Socket, show)`: shows the first seven of `world`, and whatever becomes of them, by sockets that are `Socket`; gives, if the list can,
 * `older()` (one more page) and `publish(text)`, which shows a draft before it is answered.
 */
export async function live(begin) {
  const world = await settle({ "live.catch_up": 128 }, 20);
  const { server, reader, authors } = world;
  const connection = line();
  const drafts = new Set();
  let shown = [];
  const show = (edges) => {
    shown = edges.map(({ node }) => node);
    assert.equal(new Set(shown.map(({ id }) => id)).size, shown.length, "an entry is shown twice");
    for (const { id, text } of shown) if (id.startsWith("draft:")) drafts.add(text);
  };
  const list = await begin(world, connection.Socket, show);
  const label = ({ text, repostOf }) => (repostOf ? `repost of ${repostOf.text}` : text);
  const texts = () => shown.map(label);
  const is = (what, wanted) => until(what, () => texts().join() === wanted.join()).catch(() => { assert.deepEqual(texts(), wanted, what); });
  /** What is shown is what a reader of the server sees, `reach` entries at least: a list that has been compared with the server may reach further. */
  const isTrue = async (what, reach) => {
    const { timeline } = await server.data("{ timeline(first: 100) { edges { node { text repostOf { text } } } } }", {}, reader.token);
    const wanted = () => timeline.edges.map(({ node }) => label(node)).slice(0, Math.max(reach, shown.length));
    await until(what, () => texts().join() === wanted().join()).catch(() => { assert.deepEqual(texts(), wanted(), what); });
    return texts();
  };
  const remove = (id, author) => mutate(server, "deleteContent", "DeleteContentInput", { contentId: id }, author);
  const unfollow = (author) => mutate(server, "unfollowUser", "UnfollowUserInput", { userId: author.id }, reader);
  const followAgain = (author) => mutate(server, "followUser", "FollowUserInput", { userId: author.id }, reader);

  await is("the first page is shown", world.texts.slice(0, 7));
  for (const author of [authors[3], authors[1]]) {
    await unfollow(author);
    await isTrue("an author who was unfollowed elsewhere has gone", 5);
    await followAgain(author);
    await isTrue("an author who is followed again is back, each entry at its place, the last one, too", 7);
  }
  if (list.older !== undefined) await list.older();
  const read = list.older === undefined ? 7 : 14;
  await isTrue("what has been read is shown", read);

  const [one, two] = [await publish(server, authors[0], "one"), await publish(server, authors[1], "two")];
  await isTrue("what comes is in front", read + 2);
  const three = await publish(server, authors[1], "three");
  await remove(two, authors[1]);
  await isTrue("what is deleted has gone", read + 2);

  const ofFour = world.texts.slice(0, read).filter((_, index) => index % 4 === 0).length;
  await unfollow(authors[3]);
  await isTrue("they are gone again, at any depth", read + 2 - ofFour);
  const ofThree = world.texts.slice(0, read).filter((_, index) => index % 4 === 1).length;
  await mutate(server, "muteUser", "MuteUserInput", { userId: authors[2].id }, reader);
  await isTrue("an author who was muted elsewhere has gone", read + 2 - ofFour - ofThree);

  const connected = connection.connected();
  connection.cut();
  await publish(server, authors[0], "while away");
  await remove(one, authors[0]);
  const brief = await publish(server, authors[1], "gone before it was seen");
  await remove(brief, authors[1]);
  await remove(three, authors[1]);
  connection.away = false;
  const held = await isTrue("what changed meanwhile is shown", read + 1 - ofFour - ofThree);
  assert.deepEqual(held.slice(0, 2), ["while away", world.texts[2]]);
  assert.ok(connection.connected() > connected, "it was never away");

  if (list.publish !== undefined) {
    await list.publish("of my own");
    assert.deepEqual([...drafts], ["of my own"], "a draft is shown before the answer");
    await publish(server, authors[0], "after mine");
    const top = await isTrue("each stands once", held.length + 2);
    assert.deepEqual(top.slice(0, 3), ["after mine", "of my own", held[0]]);
  }

  connection.cut();
  for (let number = 0; number < TOO_MANY; number += 1) await publish(server, authors[0], `meanwhile ${number}`);
  connection.away = false;
  await isTrue("the first page is read again", 7);
  await publish(server, authors[0], "and on");
  await isTrue("it goes on", 8);
  if (list.older !== undefined) await list.older();
  const reach = list.older === undefined ? 8 : 15;
  await isTrue("the page that follows fits", reach);

  const original = await publish(server, authors[0], "an original");
  const repost = () => mutate(server, "repostContent", "RepostContentInput", { contentId: original }, authors[1]);
  const takeBack = () => mutate(server, "unrepostContent", "UnrepostContentInput", { contentId: original }, authors[1]);
  const away = async (change) => {
    connection.cut();
    await change();
    connection.away = false;
  };
  const stands = async (what, top) => {
    assert.equal((await isTrue(what, reach + 1))[0], top, what);
  };
  await stands("an original is shown", "an original");
  for (const [how, goes, comes] of [
    ["taken back", takeBack, repost], ["unfollowed", () => unfollow(authors[1]), () => followAgain(authors[1])], ["taken back while away", () => away(takeBack), () => away(repost)],
  ]) {
    await repost();
    await stands(`a repost stands for its original, once it is to be ${how}`, "repost of an original");
    await goes();
    await stands(`the original is back when its repost is ${how}`, "an original");
    await comes();
    await stands(`the repost stands again after it was ${how}`, "repost of an original");
  }
}
