// The live socket: subscriptions that go on from their last resume token until they are left, on a connection that is given up when nobody answers.
import { type Client, createClient } from "graphql-ws";
import { type Observable, source } from "./observable.js";
import { PASSING } from "./request.js";
import type { Session } from "./session.js";
import { isOnline, onWakeUp, pause, waitMs } from "./waiting.js";

/** "reconnecting": there is a network, but nobody answers; "offline": the machine says that it has none. */
export type ConnectionState = "idle" | "connecting" | "live" | "reconnecting" | "offline";

/** What graphql-ws needs of a WebSocket. */
export type WebSocketClass = new (url: string, protocols?: string | string[]) => {
  addEventListener: (type: "error", listener: () => void) => void;
  onmessage: unknown;
};

export interface SocketOptions {
  url: string;
  session: Session;
  /** For platforms without a WebSocket of their own: that of the package ws. */
  webSocketImpl?: WebSocketClass | undefined;
  /** Between an answer and the next ping. */
  keepAliveMs: number;
  /** For the answer to a ping; connecting may take twice as long. */
  answerMs: number;
  /** The longest wait before a try. */
  retryMs: number;
}

/** A subscription; its variables are sent as they are by then when the socket connects again. */
export interface Subscription { query: string; variables: Record<string, unknown> }

/** Calls `take` with the data of each event, and `failed` once if the server refuses to tell any. Returns a function that leaves. */
export type Listen = <Data>(payload: Subscription, take: (data: Data) => void, failed: (error: Error) => void) => () => void;

export interface LiveSocket {
  state: Observable<ConnectionState>;
  listen: Listen;
  close: () => void;
}

const NO_SOCKET = 'No WebSocket, as in Node 20. Install the package "ws" and pass its class as webSocketImpl.';

let isWarned = false;
/** Says once that nothing will be live: a server that only renders pages needs no WebSocket. */
export function warnWithout(given: WebSocketClass | undefined) {
  if (given || globalThis.WebSocket || isWarned) return;
  isWarned = true;
  console.warn(NO_SOCKET);
}

/** Close codes for which the server wants another token. */
const REFUSED = [4401, 4403];
const NORMAL_CLOSURE = 1000;

/** A deadline that comes late, after a sleep or a busy time, comes before the answers that have arrived meanwhile: they get their turn. */
const GRACE_MS = 100;

/** The graphql-ws client is made with the first subscription: a server that renders a page needs none. */
export function createLiveSocket(options: SocketOptions): LiveSocket {
  const { session, answerMs } = options;
  const state = source<ConnectionState>("idle");
  let client: Client | null = null;
  let deadline: ReturnType<typeof setTimeout> | undefined;
  let socket: InstanceType<WebSocketClass> | undefined;
  let used: string | null = null;
  let hasToHurry = false;
  let quiet = () => {};
  const feeds = new Set<() => void>();

  const notLive = () => { state.set(isOnline() ? "reconnecting" : "offline"); };
  function giveUp() {
    if (socket) socket.onmessage = null; // What it still says belongs to the past.
    client?.terminate();
  }
  function hurry() {
    hasToHurry = true;
    giveUp();
  }
  const answered = () => { clearTimeout(deadline); };
  const expectAnswer = (ms: number) => {
    answered();
    deadline = setTimeout(() => { deadline = setTimeout(giveUp, GRACE_MS); }, ms);
  };

  /** A browser that goes offline or comes back, and a reader who looks again, need not wait for a deadline. */
  function watchMachine() {
    const over = new AbortController();
    globalThis.addEventListener?.("offline", giveUp, { signal: over.signal });
    const asleep = onWakeUp(() => { if (state.getSnapshot() !== "live") hurry(); });
    return () => {
      over.abort();
      asleep();
    };
  }

  const listeners = {
    connecting: () => {
      if (state.getSnapshot() === "idle") state.set("connecting");
      else if (state.getSnapshot() !== "connecting") notLive();
      expectAnswer(2 * answerMs);
      quiet();
      quiet = watchMachine();
    },
    connected: () => {
      answered();
      state.set("live");
    },
    ping: (received: boolean) => { if (!received) expectAnswer(answerMs); },
    pong: (received: boolean) => { if (received) answered(); },
    closed: (event: unknown) => {
      answered();
      quiet();
      const { code } = event as { code: number };
      if (code === NORMAL_CLOSURE) state.set("idle");
      else notLive();
      if (REFUSED.includes(code)) session.refuse(used);
    },
  };

  // What is heard is for who is signed in now: it is asked for anew, at once, on a socket of theirs.
  session.subscribe(() => {
    if (state.getSnapshot() === "idle" || !used === !session.getSnapshot().signedIn) return;
    hurry();
    state.set("idle");
  });

  async function retryWait(tries: number) {
    const wait = hasToHurry ? 0 : waitMs(tries, options.retryMs);
    hasToHurry = false;
    const watch = new AbortController();
    globalThis.addEventListener?.("offline", notLive, { signal: watch.signal });
    await pause(wait);
    watch.abort();
  }

  function open(): Client {
    const Socket = options.webSocketImpl ?? globalThis.WebSocket as unknown as WebSocketClass | undefined;
    if (!Socket) throw new Error(NO_SOCKET);
    return createClient({
      url: options.url,
      webSocketImpl: class extends Socket {
        constructor(url: string, protocols?: string | string[]) {
          super(url, protocols);
          socket = this;
          this.addEventListener("error", () => { /* The close says it; the package ws throws what nobody listens for. */ });
        }
      },
      connectionParams: async () => {
        used = await session.token();
        return used ? { authorization: `Bearer ${used}` } : {};
      },
      keepAlive: options.keepAliveMs,
      retryAttempts: Infinity,
      shouldRetry: () => true,
      retryWait,
      on: listeners,
    });
  }

  function listen<Data>(payload: Subscription, take: (data: Data) => void, failed: (error: Error) => void) {
    const live = client ??= open();
    let [left, leave, tries] = [false, () => {}, 0];
    function again() {
      if (left) return;
      void pause(waitMs(tries++, options.retryMs)).then(begin);
    }
    function begin() {
      if (left) return;
      leave = live.subscribe<Data>(payload, {
        next({ data, errors }) {
          if (left) return;
          tries = 0;
          if (!data) return failed(new Error(errors?.[0]?.message ?? "The feed has failed."));
          take(data);
        },
        error(error) {
          if (left) return;
          const [first] = Array.isArray(error) ? error as { message: string; extensions?: { code?: string } }[] : [];
          if (!first || PASSING.includes(first.extensions?.code ?? "")) again();
          else failed(new Error(first.message));
        },
        complete: again, // A node that stops completes its subscriptions; another one goes on.
      });
    }
    const end = () => {
      left = true;
      feeds.delete(end);
      leave();
    };
    feeds.add(end);
    begin();
    return end;
  }

  function close() {
    for (const end of [...feeds]) end();
    client?.terminate();
    client = null;
    answered();
    quiet();
    state.set("idle");
  }

  return { state, listen, close };
}
