// What the stream, which tells of every kind of content, means for a list of some kinds alone.
import type { List } from "./list.js";
import type { ContentKind, TimelineChange } from "./types.js";

/** Null for what does not concern the list. */
export type EventFilter = (list: List, event: TimelineChange) => TimelineChange | null;

/** Passes on what concerns a list of `kinds`. An entry that one of another kind has folded away still stands among its own. */
export function onlyKinds(kinds: readonly ContentKind[]): EventFilter {
  /** Subjects of entries of other kinds that stand, by the entries' ids. */
  const others = new Map<string, string>();
  return (list, event) => {
    const node = event.__typename === "EntryAdded" ? event.timelineEdge.node : null;
    if (node !== null && !kinds.includes(node.kind)) {
      others.set(node.id, node.subjectId);
      return null;
    }
    if (event.__typename !== "ContentRemoved") return event;
    const { contentId } = event;
    others.delete(contentId);
    const subject = list.held.find((one) => one.node.id === contentId)?.node.subjectId;
    const isFolded = subject !== undefined && [...others.values()].includes(subject);
    return isFolded ? null : event;
  };
}
