// What the package's tests share: a server, people, and clients of theirs with short deadlines.
import { after } from "node:test";
import WebSocket from "ws";
import { start } from "../../../tests/clients/server.mjs";
import { createTidefeed, memoryStore } from "../dist/index.js";

/** The package's deadlines, shortened, for lines that go dead. */
export const SOON = { keepAliveMs: 500, pongMs: 1500, answerMs: 3000 };
/** For all others: a busy machine is no dead one. */
const PATIENT = { answerMs: 60_000, pongMs: 60_000, retryMs: 100 };

/** People register without a limit. */
export const startServer = (settings = {}) => start({ "auth.registrations_per_hour": 0, ...settings });

/** Registers people on a server that several tests share: each has a handle of their own. */
export function peopleOf(server) {
  let number = 0;
  return (name) => {
    number += 1;
    return server.register(`${name}_${number}`);
  };
}

/** Who is not signed in. */
export const NOBODY = { tokens: null };

/** A client of `person`'s by way of `address`; ended with the test file. */
export function clientOf(person, address, options = {}) {
  const client = createTidefeed({ url: `http://${address}`, store: memoryStore(person.tokens), webSocketImpl: WebSocket, ...PATIENT, ...options });
  after(client.close);
  return client;
}

/** Watches `timeline` until the test file ends. */
export function watch(timeline, listener = () => {}) {
  const end = timeline.subscribe(listener);
  after(end);
  return end;
}

const INPUTS = {
  followUser: "FollowUserInput", unfollowUser: "UnfollowUserInput", muteUser: "MuteUserInput", unmuteUser: "UnmuteUserInput", deleteContent: "DeleteContentInput",
  likeContent: "LikeContentInput", repostContent: "RepostContentInput", unrepostContent: "UnrepostContentInput",
};

/** A mutation straight to the server, as another device makes it. */
export const mutate = (server, field, input, { token }) =>
  server.data(`mutation($input: ${INPUTS[field]}!) { ${field}(input: $input) { userErrors { message } } }`, { input }, token);

export async function publish(server, text, { token }, replyTo = undefined) {
  const { publishContent } = await server.data("mutation($input: PublishContentInput!) { publishContent(input: $input) { timelineEdge { node { id } } } }", { input: { text, replyTo } }, token);
  return publishContent.timelineEdge.node.id;
}

const PAGE = "query($after: String, $filter: TimelineFilter) { timeline(first: 100, after: $after, filter: $filter) { edges { node { id subjectId text createdAt author { id } } } pageInfo { hasNextPage endCursor } } }";

/** The first `many` of the server's timeline, of `kinds` alone if they are given: of each subject the newest. `isWhole`: there are no more. */
export async function timelineOf(server, { token }, many = Infinity, kinds = undefined) {
  const met = new Map();
  const filter = kinds && { kinds };
  let [after, hasNextPage] = [null, true];
  while (hasNextPage && met.size < many) {
    const { timeline } = await server.data(PAGE, { after, filter }, token);
    for (const { node } of timeline.edges) if (!met.has(node.subjectId)) met.set(node.subjectId, node);
    ({ endCursor: after, hasNextPage } = timeline.pageInfo);
  }
  return { nodes: [...met.values()].slice(0, many), isWhole: !hasNextPage && met.size <= many };
}
