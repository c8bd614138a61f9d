// The package's front: one client a page, made of a session, a socket, lists and what the viewer does.
import { type Actions, createActions } from "./actions.js";
import { createHub, type Fact } from "./hub.js";
import { type Issuer, issuedSession } from "./issued.js";
import { createQueries, type Ask } from "./query.js";
import { createContent, createViewer, type Read, type ViewerStore } from "./objects.js";
import type { Observable } from "./observable.js";
import { checkUrl, endpointOf, refusalOf } from "./post.js";
import { createSend, type Send } from "./request.js";
import { localStore, type Session, sessionAt, type TokenStore } from "./session.js";
import { type ConnectionState, createLiveSocket, type Listen, warnWithout, type WebSocketClass } from "./socket.js";
import { createTimeline, type Timeline, type TimelineOptions } from "./timeline.js";
import type { Content } from "./types.js";

export interface TidefeedOptions {
  /** Where the server is: "https://feed.example.org". */
  url: string;
  /** Where tokens are kept: in localStorage where there is one that may be used, else in memory. */
  store?: TokenStore;
  /** Where an external issuer signs people in: gives its token, or null for nobody, and another one for a token that the server has `refused`. */
  token?: Issuer;
  fetch?: typeof fetch;
  /** For platforms without a WebSocket of their own (Node 20): that of the package ws. */
  webSocketImpl?: WebSocketClass;
  /** How long an answer may take. */
  answerMs?: number;
  /** Between an answer on the socket and the next ping. */
  keepAliveMs?: number;
  /** How long the answer to a ping may take. */
  pongMs?: number;
  /** The longest wait before the socket is opened again. */
  retryMs?: number;
}

export interface Tidefeed extends Actions {
  session: Session;
  /** Whether what is shown is live. */
  connection: Observable<ConnectionState>;
  /** Any other operation of the schema, with the session's token. A query is sent again when its answer was lost, a mutation if `safe` is said. */
  request: Send;
  /** The answer to a query, watched; who asks the same again gets the same object. At most one connection in it, paged by `$after`, and no aliases for contents' fields. */
  query: Ask;
  /** A subscription of the schema, on the socket of the timelines. */
  listen: Listen;
  /** What another mutation has answered, sent by `request`, or what has been read anew: shown wherever that content or user stands. */
  tell: (fact: Pick<Fact, "content" | "user" | "event" | "changed">) => void;
  /** Who is signed in, as they are now. */
  viewer: ViewerStore;
  /** A content by its id. */
  content: (id: string) => Observable<Read<Content>>;
  /** A list of its own: each has its pages. */
  timeline: (options?: TimelineOptions) => Timeline;
  /** Ends the socket. */
  close: () => void;
}

/** An answer takes less, or nobody is there. */
const ANSWER_MS = 10_000;
const [KEEP_ALIVE_MS, PONG_MS, RETRY_MS] = [8_000, 5_000, 20_000];

const platformFetch: typeof fetch = (...request) => globalThis.fetch(...request);

/** Who is signed in, and nothing else: for a page or a program that sends its requests by `session.fetch`. `createTidefeed` has one of its own. */
export function createSession({ url, store = localStore(), fetch = platformFetch, answerMs = ANSWER_MS }: Pick<TidefeedOptions, "url" | "store" | "fetch" | "answerMs">): Session {
  return sessionAt({ endpoint: endpointOf(url), store, fetch, answerMs });
}

export function createTidefeed(options: TidefeedOptions): Tidefeed {
  const { url, store = localStore(), fetch = platformFetch, token, webSocketImpl, answerMs = ANSWER_MS, keepAliveMs = KEEP_ALIVE_MS, pongMs = PONG_MS, retryMs = RETRY_MS } = options;
  checkUrl(url);
  warnWithout(webSocketImpl);
  const endpoint = endpointOf(url);
  const at = { endpoint, fetch, answerMs, refusal: refusalOf };
  const session = token === undefined ? sessionAt({ ...at, store }) : issuedSession(fetch, token);
  const socket = createLiveSocket({
    url: `${endpoint.replace(/^http/, "ws")}/ws`, session, webSocketImpl, keepAliveMs, answerMs: pongMs, retryMs,
  });
  const hub = createHub();
  const send = createSend({ ...at, fetch: session.fetch });
  const viewer = createViewer(send, session, hub);
  const { query, forget } = createQueries(send, hub);
  session.subscribe(forget); // What one person is shown is not what another one is.
  return {
    ...createActions(send, hub, () => viewer.getSnapshot().value),
    session,
    connection: socket.state,
    listen: socket.listen,
    request: send,
    query,
    tell: hub.tell,
    viewer,
    content: (id) => createContent(send, hub, id),
    timeline: (settings) => createTimeline({ send, socket, session, hub, viewer }, settings),
    close: socket.close,
  };
}

export type { Actions } from "./actions.js";
export { documents } from "./documents.js";
export type { Fact } from "./hub.js";
export type { Read, ViewerStore } from "./objects.js";
export type { Observable } from "./observable.js";
export type { Ask, Query, QueryOptions, QuerySnapshot } from "./query.js";
export { RequestError } from "./failure.js";
export type { RequestOptions, Send } from "./request.js";
export type { Issuer } from "./issued.js";
export { localStore, memoryStore, type Session, type SessionState, type TokenStore } from "./session.js";
export type { ConnectionState, Listen, WebSocketClass } from "./socket.js";
export type { Entry, TimelineSnapshot } from "./snapshot.js";
export type { Timeline, TimelineOptions } from "./timeline.js";
export type { Rest, TypedDocument } from "./typed.js";
export type * from "./types.js";
