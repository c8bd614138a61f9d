// Posts and replies that are being written. They outlive the page that they are written on, and the browser's being closed: a draft goes when it is published.
import type { Draft as Sent, MediaInput, Observable } from "@tidefeed/client";
import { useObservable } from "@tidefeed/react";
import { tidefeed } from "../api/tidefeed";
import { describeFailure, type UserError } from "../api/userErrors";
import { isDrawn } from "../content/pictures";

export interface Picture {
  url: string;
  alt: string;
  /** Null until the preview has loaded. */
  size: { width: number; height: number } | null;
}

interface Written {
  text: string;
  pictures: readonly Picture[];
  /** Sending the same draft again, after a lost answer, publishes it once. */
  key: string;
  /** Why it was not published when it was to be. */
  problem: { errors: readonly UserError[]; failure: string | null } | null;
  isSending: boolean;
}

export interface DraftStore extends Observable<Written> {
  setText: (text: string) => void;
  setPictures: (pictures: readonly Picture[]) => void;
  clear: () => void;
  /** Publishes it, and is empty at once. What is refused or fails comes back, above what has been written since, with the reason. Whether it was published. */
  publish: (replyTo?: string) => Promise<boolean>;
}

const PREFIX = "tidefeed.draft.";
const known = new Map<string, DraftStore>();

// Not crypto.randomUUID: it is missing where the page is served over plain http from another machine.
const freshKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
const nothing = (): Written => ({ text: "", pictures: [], key: freshKey(), problem: null, isSending: false });
export const isNothing = ({ text, pictures }: Written) => text === "" && pictures.length === 0;

const mediaOf = (pictures: readonly Picture[]): MediaInput[] => pictures.map(({ url, alt, size }) => ({ kind: "PICTURE" as const, url: url.trim(), alt: alt.trim(), ...size }))
  .filter(({ url }) => url !== "");

/** Why the page would not show a picture from there, whatever the server says: its content policy takes https, and what is this server's own. */
export function refusedAddress(url: string): string | undefined {
  if (url === "" || isDrawn(url)) return undefined;
  if (!URL.canParse(url)) return "This is not a whole address. It begins with https://.";
  const { protocol, origin } = new URL(url);
  return protocol === "https:" || origin === window.location.origin ? undefined : "Only pictures from https:// addresses are shown.";
}

function read(name: string): Written {
  try {
    const stored = JSON.parse(localStorage.getItem(PREFIX + name) ?? "null") as Partial<Written> | null;
    if (typeof stored?.text !== "string" || typeof stored.key !== "string") return nothing();
    return { ...nothing(), text: stored.text, pictures: stored.pictures ?? [], key: stored.key };
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
      else localStorage.setItem(PREFIX + name, JSON.stringify({ text: kept.text, pictures: kept.pictures, key: kept.key }));
    } catch { /* Where the browser refuses storage, a draft lives as long as the page. */ }
  }
  function change(next: Written) {
    written = next;
    store();
    for (const listener of listeners) listener();
  }

  function putBack(key: string, problem: Written["problem"]) {
    const back = sending.get(key);
    if (back === undefined) return; // Whoever has signed out meanwhile leaves nothing.
    sending.delete(key);
    const both = { text: `${back.text}\n\n${written.text}`, pictures: [...back.pictures, ...written.pictures], key: freshKey() };
    change({ ...(isNothing(written) ? back : { ...written, ...both }), problem, isSending: false });
  }

  /** Why it was not published; null if it was. */
  async function problemOf(sent: Sent): Promise<Written["problem"]> {
    try {
      const errors = await tidefeed.publish(sent);
      return errors.length === 0 ? null : { errors, failure: null };
    } catch (error) {
      return { errors: [], failure: describeFailure(error) };
    }
  }

  return {
    subscribe: (listener) => {
      listeners.add(listener);
      return () => { listeners.delete(listener); };
    },
    getSnapshot: () => written,
    setText: (text) => { change({ ...written, text, key: freshKey() }); },
    setPictures: (pictures) => { change({ ...written, pictures, key: freshKey() }); },
    clear: () => { change(nothing()); },
    async publish(replyTo) {
      const { text, pictures, key } = written;
      sending.set(key, written);
      change({ ...nothing(), isSending: true });
      const problem = await problemOf({ text, media: mediaOf(pictures), key, ...(replyTo === undefined ? {} : { replyTo }) });
      if (problem !== null) putBack(key, problem);
      else {
        sending.delete(key);
        change({ ...written, isSending: false });
      }
      return problem === null;
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
