// What the stream, which tells of every kind of content, means for a list of some kinds alone.
import type { List } from "./list.js";
import type { ContentKind, FeedEvent } from "./types.js";

export type EventFilter = (list: List, event: Partial<FeedEvent>) => Partial<FeedEvent>;

/** Passes on what concerns a list of `kinds`. An entry that one of another kind has folded away still stands among its own. */
export function onlyKinds(kinds: readonly ContentKind[]): EventFilter {
  /** Subjects of entries of other kinds that stand, by the entries' ids. */
  const others = new Map<string, string>();
  return (list, event) => {
    const node = event.timelineEdge?.node;
    if (node != null && !kinds.includes(node.kind)) {
      others.set(node.id, node.subjectId);
      return { ...event, timelineEdge: null };
    }
    const removed = event.removedContentId;
    if (removed == null) return event;
    others.delete(removed);
    const subject = list.held.find((one) => one.node.id === removed)?.node.subjectId;
    const isFolded = subject !== undefined && [...others.values()].includes(subject);
    return isFolded ? { ...event, removedContentId: null } : event;
  };
}
