// The state of the WebSocket as the page needs it: is it open, and was it open before (then events may have been missed).
import { useSyncExternalStore } from "react";

export interface Connection {
  isOpen: () => boolean;
  onChange: (listener: () => void) => () => void;
  onReconnected: (listener: () => void) => () => void;
  /** For graphql-ws's `on` option. */
  listeners: {
    connected: (socket: unknown, payload: unknown, wasRetry: boolean) => void;
    closed: (event: unknown) => void;
  };
}

// 4401 Unauthorized and 4403 Forbidden: the server does not take the token.
const REFUSED = [4401, 4403];

export function openConnection(onRefused: () => void): Connection {
  let open = false;
  const changeListeners = new Set<() => void>();
  const reconnectListeners = new Set<() => void>();
  const change = (next: boolean) => {
    open = next;
    for (const listener of changeListeners) listener();
  };
  const register = (set: Set<() => void>) => (listener: () => void) => {
    set.add(listener);
    return () => { set.delete(listener); };
  };
  return {
    isOpen: () => open,
    onChange: register(changeListeners),
    onReconnected: register(reconnectListeners),
    listeners: {
      connected: (_socket, _payload, wasRetry) => {
        change(true);
        if (wasRetry) for (const listener of reconnectListeners) listener();
      },
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
