// The sheet in which a post is written, over wherever the reader is. It is an entry of the history, so that "back" closes it; a draft in it is asked about first.
import { useSyncExternalStore } from "react";
import { draftOf, isNothing } from "./drafts";

export type Sheet = "closed" | "open" | "asking";

let sheet: Sheet = "closed";
let leaves = false;
const listeners = new Set<() => void>();

function change(next: Sheet) {
  sheet = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => { listeners.delete(listener); };
}

const enter = () => { history.pushState(history.state, ""); };

function onBack() {
  if (leaves || isNothing(draftOf("post").getSnapshot())) {
    leaves = false;
    window.removeEventListener("popstate", onBack);
    change("closed");
  } else {
    enter();
    change("asking");
  }
}

/** Leads to where a post is written: on the timeline of a wide page that is there already. */
export function openComposer() {
  const field = document.querySelector<HTMLTextAreaElement>(".composer.inline textarea");
  if (field !== null) {
    field.focus();
    window.scrollTo(0, 0);
  } else if (sheet === "closed") {
    enter();
    window.addEventListener("popstate", onBack);
    change("open");
  }
}

/** As "back" does. */
export function closeComposer() {
  if (sheet !== "closed") history.back();
}

/** Without a question: the draft has been published, or may stay where it is. */
export function leaveComposer() {
  if (sheet === "closed") return;
  leaves = true;
  history.back();
}

export function goOnComposing() {
  change("open");
}

export const useSheet = (): Sheet => useSyncExternalStore(subscribe, () => sheet);
