// Posts and replies that are being written. They outlive the page that they are written on, and the browser's being closed: a draft goes when it is published.
import type { Draft as Sent, MediaInput, Observable } from "@tidefeed/client";
import { useObservable } from "@tidefeed/react";

export interface Picture {
  url: string;
  alt: string;
  /** Null until the preview has loaded. */
  size: { width: number; height: number } | null;
}

interface Written {
  text: string;
  /** Null while no picture is being added. */
  picture: Picture | null;
  /** Sending the same draft again, after a lost answer, publishes it once. */
  key: string;
}

export interface DraftStore extends Observable<Written> {
  setText: (text: string) => void;
  setPicture: (picture: Picture | null) => void;
  /** What is to be published; the draft is empty then, and waits for `published` or `putBack`. */
  take: () => Sent;
  published: () => void;
  /** It was not published: above what has been written since. */
  putBack: (sent: Sent) => void;
}

const PREFIX = "tidefeed.draft.";
const known = new Map<string, DraftStore>();

// Not crypto.randomUUID: it is missing where the page is served over plain http from another machine.
const freshKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
const nothing = (): Written => ({ text: "", picture: null, key: freshKey() });
const isNothing = ({ text, picture }: Written) => text === "" && picture === null;

function mediaOf(picture: Picture | null): MediaInput[] {
  const url = picture?.url.trim() ?? "";
  return picture === null || url === "" ? [] : [{ kind: "PICTURE", url, alt: picture.alt.trim(), ...picture.size }];
}

function read(name: string): Written {
  try {
    const stored = JSON.parse(localStorage.getItem(PREFIX + name) ?? "null") as Partial<Written> | null;
    if (typeof stored?.text !== "string" || typeof stored.key !== "string") return nothing();
    return { text: stored.text, picture: stored.picture ?? null, key: stored.key };
  } catch {
    return nothing();
  }
}

function create(name: string): DraftStore {
  let written = read(name);
  const sending = new Map<string, Written>();
  const listeners = new Set<() => void>();

  /** What is being sent stays stored until it has arrived. */
  function store() {
    const [first] = sending.values();
    const kept = isNothing(written) ? first ?? written : written;
    try {
      if (isNothing(kept)) localStorage.removeItem(PREFIX + name);
      else localStorage.setItem(PREFIX + name, JSON.stringify(kept));
    } catch { /* Where the browser refuses storage, a draft lives as long as the page. */ }
  }
  function change(next: Written) {
    written = next;
    store();
    for (const listener of listeners) listener();
  }

  return {
    subscribe: (listener) => {
      listeners.add(listener);
      return () => { listeners.delete(listener); };
    },
    getSnapshot: () => written,
    setText: (text) => { change({ ...written, text, key: freshKey() }); },
    setPicture: (picture) => { change({ ...written, picture, key: freshKey() }); },
    take() {
      const { text, picture, key } = written;
      sending.set(key, written);
      change(nothing());
      return { text, media: mediaOf(picture), key };
    },
    published() {
      sending.clear();
      store();
    },
    putBack({ key }) {
      const back = sending.get(key ?? "");
      if (back === undefined) return;
      sending.delete(back.key);
      change(isNothing(written) ? back : { text: `${back.text}\n\n${written.text}`, picture: written.picture ?? back.picture, key: freshKey() });
    },
  };
}

/** The draft of that name; always the same one. */
export function draftOf(name: string): DraftStore {
  const draft = known.get(name) ?? create(name);
  known.set(name, draft);
  return draft;
}

export function useDraft(name: string): Written & Omit<DraftStore, keyof Observable<unknown>> {
  const draft = draftOf(name);
  return { ...draft, ...useObservable(draft) };
}

/** Whoever signs out leaves nothing to the next one. */
export function forgetDrafts() {
  known.clear();
  try {
    for (const key of Object.keys(localStorage)) if (key.startsWith(PREFIX)) localStorage.removeItem(key);
  } catch { /* Nothing is stored there. */ }
}
