// A value that changes and says so: what React's useSyncExternalStore, Svelte, Vue and plain code can watch.

export interface Observable<Value> {
  /** Calls `listener` after each change. Returns a function that ends it. */
  subscribe: (listener: () => void) => () => void;
  /** The value now: the same object until it changes. */
  getSnapshot: () => Value;
  /** As it is before anything is known or read: what a server renders, and what a page takes over from it. */
  getServerSnapshot?: () => Value;
}

export interface Source<Value> extends Observable<Value> {
  getServerSnapshot: () => Value;
  set: (next: Value) => void;
}

/** `watched(true)` is called with the first listener, `watched(false)` when the last one has left. */
export function source<Value>(value: Value, watched: (is: boolean) => void = () => {}): Source<Value> {
  const listeners = new Set<() => void>();
  const first = value;
  return {
    getSnapshot: () => value,
    getServerSnapshot: () => first,
    set(next) {
      if (next === value) return;
      value = next;
      for (const listener of [...listeners]) listener();
    },
    subscribe(listener) {
      const its = () => { listener(); };
      listeners.add(its);
      if (listeners.size === 1) watched(true);
      return () => {
        if (listeners.delete(its) && listeners.size === 0) watched(false);
      };
    },
  };
}
