// A small world on a server of the test's own: a reader, whom they follow, a hundred contents, and authors who go on publishing.
import { createTidefeed, memoryStore } from "@tidefeed/client";
import { after } from "node:test";
import { setTimeout } from "node:timers/promises";
import WebSocket from "ws";
import { start } from "../clients/server.mjs";
import { moduleOf } from "./guide.mjs";

export const CONTENTS = 100;
const AUTHORS = 4;
const FOLLOW = "mutation($id: ID!) { followUser(input: { userId: $id }) { userErrors { message } } }";
const PUBLISH = `mutation($text: String!, $replyTo: ID) {
  publishContent(input: { text: $text, replyTo: $replyTo }) { timelineEdge { node { id } } userErrors { message } }
}`;

/** `settings` as of `start`; `texts` are those of the contents, newest first. */
export async function settle(settings = {}, contents = CONTENTS) {
  const server = await start(settings);
  const reader = await server.register("reader");
  const authors = [];
  for (let number = 0; number < AUTHORS; number += 1) {
    const author = await server.register(`author_${number}`);
    await server.data(FOLLOW, { id: author.id }, reader.token);
    authors.push(author);
  }
  const texts = [];
  for (let number = 0; number < contents; number += 1) {
    texts.unshift(`content ${number}`);
    await publish(server, authors[number % AUTHORS], texts[0]);
  }
  return { server, reader, authors, texts };
}

/** A session of the guide's for somebody who has registered; `store` keeps their tokens. */
export async function sessionOf(server, { tokens }, signedOut = undefined) {
  const { createSession } = await moduleOf("session.mjs");
  const store = { tokens, read: () => store.tokens, write: (next) => { store.tokens = next; } };
  return { ...createSession({ url: `http://${server.address}`, store, signedOut }), store };
}

/** A client of @tidefeed/client for somebody who has registered, ended with the test file; a busy machine is no dead one. */
export function clientOf(server, { tokens }, options = {}) {
  const url = `http://${server.address}`;
  const client = createTidefeed({ url, store: memoryStore(tokens), webSocketImpl: WebSocket, answerMs: 60_000, pongMs: 60_000, retryMs: 100, ...options });
  after(client.close);
  return client;
}

/** The new content's id. */
export async function publish(server, author, text, replyTo = undefined) {
  const { publishContent } = await server.data(PUBLISH, { text, replyTo }, author.token);
  return publishContent.timelineEdge.node.id;
}

/** Between two publishes: a page's own work must get its turn. */
const PACE_MS = 25;

/** So many at most: a page that reads on more slowly than others publish would never come to the end. */
const MOST_MEANWHILE = 150;

/** Authors who publish until they are told to stop; stopping says how much it was. */
export function goOnPublishing({ server, authors }) {
  let going = true;
  const work = (async () => {
    let number = 0;
    for (; going && number < MOST_MEANWHILE; number += 1) {
      await publish(server, authors[number % authors.length], `meanwhile ${number}`);
      await setTimeout(PACE_MS);
    }
    return number;
  })();
  return () => {
    going = false;
    return work;
  };
}

/** The texts of a timeline's entries. */
export const textsOf = ({ edges }) => edges.map(({ node }) => node.text);

/** The texts of so many that were published meanwhile. */
export const newestFirst = (many) => Array.from({ length: many }, (_, number) => `meanwhile ${many - 1 - number}`);
