// Whether the composer is to be written in now. On a phone it is there only then.
import { useSyncExternalStore } from "react";
import { timelinePath } from "../routing";

let isOpen = false;
const listeners = new Set<() => void>();

function change(next: boolean) {
  isOpen = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => { listeners.delete(listener); };
}

/** Leads to the composer from wherever the reader is. */
export function openComposer() {
  const field = document.querySelector<HTMLTextAreaElement>(".composer-text");
  if (field === null) window.location.hash = timelinePath;
  change(true);
  field?.focus();
}

export function closeComposer() {
  change(false);
}

export function useComposing(): boolean {
  return useSyncExternalStore(subscribe, () => isOpen);
}
