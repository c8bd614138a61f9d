// The state of the WebSocket as the page needs it: is it open, and from where on do events come when it is opened anew.
import { useSyncExternalStore } from "react";

export interface Connection {
  isOpen: () => boolean;
  onChange: (listener: () => void) => () => void;
  /** What newFeed resumes with when the socket is opened anew; null: with what it began with. */
  resumeToken: () => string | null;
  resumeWith: (token: string | null) => void;
  /** For graphql-ws's `on` option. */
  listeners: {
    connected: () => void;
    closed: (event: unknown) => void;
  };
}

// 4401 Unauthorized and 4403 Forbidden: the server does not take the token.
const REFUSED = [4401, 4403];

export function openConnection(onRefused: () => void): Connection {
  let open = false;
  let lastToken: string | null = null;
  const changeListeners = new Set<() => void>();
  const change = (next: boolean) => {
    open = next;
    for (const listener of changeListeners) listener();
  };
  return {
    isOpen: () => open,
    onChange: (listener) => {
      changeListeners.add(listener);
      return () => { changeListeners.delete(listener); };
    },
    resumeToken: () => lastToken,
    resumeWith: (token) => { lastToken = token; },
    listeners: {
      connected: () => { change(true); },
      closed: (event) => {
        change(false);
        if (event instanceof CloseEvent && REFUSED.includes(event.code)) onRefused();
      },
    },
  };
}

export function useIsOpen(connection: Connection): boolean {
  return useSyncExternalStore(connection.onChange, connection.isOpen);
}
