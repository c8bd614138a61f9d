// What a timeline shows: the entries that are held, with what is under way laid over them.
import { type Hub, withIntent } from "./hub.js";
import { type Held, type List, visible } from "./list.js";
import type { Content, ContentKind, Original } from "./types.js";

export interface Entry {
  /** That of the content; begins with "draft:" for one that is under way. */
  id: string;
  /** Null for one that is under way. */
  cursor: string | null;
  content: Content;
  isDraft: boolean;
}

export interface TimelineSnapshot {
  /** "idle": nobody is signed in, or nobody has watched yet. */
  status: "idle" | "loading" | "ready";
  /** Newest first; of each subject the newest. */
  entries: readonly Entry[];
  /** How many entries have come that `showNew` would show; 0 unless `holdNew` is set. */
  newCount: number;
  hasOlder: boolean;
  isLoadingOlder: boolean;
  /** The cursor up to which the viewer has read, on whatever device; null before they have. */
  readMarker: string | null;
  /** Whether nothing is under way that could still change what is shown by itself. */
  isSettled: boolean;
  /** Why the last read failed, or why the server tells nothing any more; null once one has succeeded. */
  error: Error | null;
}

const finder = (contents: readonly Content[]) => (id: string): Original | undefined =>
  contents.find((content) => content.id === id) ?? contents.find(({ repostOf }) => repostOf?.id === id)?.repostOf ?? undefined;

/** Makes entries of what is held and under way. An entry is the same object as long as nothing about it changes. */
export function entriesOf(hub: Hub, kinds: readonly ContentKind[] | undefined): (list: List) => Entry[] {
  const made = new WeakMap<Held, Entry>();
  function entryOf(held: Held, content: Content): Entry {
    const old = made.get(held);
    if (old?.content === content) return old;
    const entry = { id: content.id, cursor: held.cursor, content, isDraft: false };
    made.set(held, entry);
    return entry;
  }
  return (list) => {
    const intents = hub.intents();
    const shown = visible(list).map((held) => entryOf(held, intents.reduce(withIntent, held.node)));
    const find = finder(shown.map(({ content }) => content));
    const drafts = intents.flatMap(({ draft }) => draft?.(find) ?? []).filter(({ kind }) => kinds?.includes(kind) ?? true).reverse()
      .map((content) => ({ id: content.id, cursor: null, content, isDraft: true }));
    const met = new Set<string>();
    return [...drafts, ...shown]
      .filter(({ content }) => !intents.some(({ hides }) => hides?.(content)) && !met.has(content.subjectId) && met.add(content.subjectId));
  };
}
