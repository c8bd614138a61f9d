// A small world on a server of the test's own: a reader, whom they follow, a hundred contents, and authors who go on publishing.
import { setTimeout } from "node:timers/promises";
import { start } from "../clients/server.mjs";
import { moduleOf } from "./guide.mjs";

export const CONTENTS = 100;
const AUTHORS = 4;
const FOLLOW = "mutation($id: ID!) { followUser(input: { userId: $id }) { userErrors { message } } }";
const PUBLISH = `mutation($text: String!) {
  publishContent(input: { text: $text }) { timelineEdge { node { id } } userErrors { message } }
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
  return { ...createSession({ server: server.address, store, signedOut }), store };
}

/** The new content's id. */
export async function publish(server, author, text) {
  const { publishContent } = await server.data(PUBLISH, { text }, author.token);
  return publishContent.timelineEdge.node.id;
}

/** Between two publishes: a page's own work must get its turn. */
const PACE_MS = 25;

/** Authors who publish until they are told to stop; stopping says how much it was. */
export function goOnPublishing({ server, authors }) {
  let going = true;
  const work = (async () => {
    let number = 0;
    for (; going; number += 1) {
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
