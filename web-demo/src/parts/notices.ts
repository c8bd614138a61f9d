// What has just been done where nothing else shows it, for some seconds: "You have muted Ada", with a way back.
import { useSyncExternalStore } from "react";

export interface Notice {
  text: string;
  /** What takes it back, or leads on. */
  action?: { name: string; act: () => void };
}

const SHOWN_MS = 8_000;

let notice: Notice | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();

export function notify(next: Notice | null) {
  clearTimeout(timer);
  notice = next;
  if (next !== null) timer = setTimeout(notify, SHOWN_MS, null);
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => { listeners.delete(listener); };
}

export const useNotice = () => useSyncExternalStore(subscribe, () => notice);
