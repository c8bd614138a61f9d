// The state of the WebSocket as the page needs it: is it live, when to give it up and when to try again, and from where on do events come when it is
// opened anew. Knows nothing of operations.
import type { EventClosedListener, EventPingListener, EventPongListener } from "graphql-ws";
import { useSyncExternalStore } from "react";

/** "offline": the browser says that it has no network; "reconnecting": it has one, but nobody answers. */
export type ConnectionState = "connecting" | "live" | "reconnecting" | "offline";

export interface Connection {
  state: () => ConnectionState;
  onChange: (listener: () => void) => () => void;
  /** What newFeed resumes with when the socket is opened anew; null: with what it began with. */
  resumeToken: () => string | null;
  resumeWith: (token: string | null) => void;
  /** For graphql-ws's `retryWait` option. */
  waitBeforeRetry: (retries: number) => Promise<void>;
  /** For graphql-ws's `on` option. */
  listeners: {
    connecting: () => void;
    connected: () => void;
    ping: EventPingListener;
    pong: EventPongListener;
    closed: EventClosedListener;
  };
}

/** Between an answer and the next ping. */
export const KEEP_ALIVE_MS = 8_000;
// For the answer to a ping: a dead line is noticed after both.
const ANSWER_MS = 5_000;
// From the beginning of a connection to its acknowledgement.
const CONNECT_MS = 10_000;
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 10_000;
const NORMAL_CLOSURE = 1000;
// 4401 Unauthorized and 4403 Forbidden: the server does not take the token.
const REFUSED = [4401, 4403];

/** Calls `listener` when the browser is online again, or somebody looks at the page again. */
function onWakeUp(listener: () => void, signal: AbortSignal) {
  window.addEventListener("online", listener, { signal });
  document.addEventListener("visibilitychange", () => { if (document.visibilityState === "visible") listener(); }, { signal });
}

/** `giveUp` takes the socket for closed, whatever has become of it; `onRefused`: the server does not take the token. */
export function openConnection(giveUp: () => void, onRefused: () => void): Connection {
  let state: ConnectionState = "connecting";
  let lastToken: string | null = null;
  let deadline: ReturnType<typeof setTimeout> | undefined;
  // Of the socket that is there, or is being opened.
  let socketScope = new AbortController();
  let mayNotWait = false;
  const changeListeners = new Set<() => void>();
  const change = (next: ConnectionState) => {
    state = next;
    for (const listener of changeListeners) listener();
  };
  const notLive = () => { change(navigator.onLine ? "reconnecting" : "offline"); };
  const expectAnswer = (ms: number) => {
    clearTimeout(deadline);
    deadline = setTimeout(giveUp, ms);
  };
  const answered = () => { clearTimeout(deadline); };
  return {
    state: () => state,
    onChange: (listener) => {
      changeListeners.add(listener);
      return () => { changeListeners.delete(listener); };
    },
    resumeToken: () => lastToken,
    resumeWith: (token) => { lastToken = token; },
    /** Twice as long each time, with a bound, and spread so that not all clients of a restarted server come at once. */
    waitBeforeRetry: async (retries) => {
      const wait = Math.min(FIRST_RETRY_MS * 2 ** retries, LONGEST_RETRY_MS) * (0.5 + Math.random() / 2);
      const waiting = new AbortController();
      await new Promise<void>((resolve) => {
        setTimeout(resolve, mayNotWait ? 0 : wait);
        onWakeUp(resolve, waiting.signal);
        window.addEventListener("offline", notLive, { signal: waiting.signal });
      });
      waiting.abort();
      mayNotWait = false;
    },
    listeners: {
      connecting: () => {
        if (state !== "connecting") notLive();
        expectAnswer(CONNECT_MS);
        socketScope = new AbortController();
        window.addEventListener("offline", giveUp, { signal: socketScope.signal });
        onWakeUp(() => {
          if (state === "live") return;
          mayNotWait = true;
          giveUp();
        }, socketScope.signal);
      },
      connected: () => {
        answered();
        change("live");
      },
      ping: (received) => { if (!received) expectAnswer(ANSWER_MS); },
      pong: (received) => { if (received) answered(); },
      closed: (event) => {
        answered();
        socketScope.abort();
        const code = event instanceof CloseEvent ? event.code : undefined;
        if (code === NORMAL_CLOSURE) change("connecting");
        else notLive();
        if (code !== undefined && REFUSED.includes(code)) onRefused();
      },
    },
  };
}

export function useConnectionState(connection: Connection): ConnectionState {
  return useSyncExternalStore(connection.onChange, connection.state);
}
