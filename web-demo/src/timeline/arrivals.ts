// What newFeed has brought and nobody has asked to see yet: for each list of the timeline its own, for each is shown by itself.
import { insertEdge, type TimelineEdge } from "../api/timelineCache";
import { isIn, TIMELINE_LISTS, type TimelineList } from "../api/timelineLists";

export type Arrivals = Readonly<Record<TimelineList, readonly TimelineEdge[]>>;

export const NO_ARRIVALS: Arrivals = { EVERYTHING: [], POST: [], REPLY: [], REPOST: [] };

function each(change: (list: TimelineList) => readonly TimelineEdge[]): Arrivals {
  return Object.fromEntries(TIMELINE_LISTS.map((list) => [list, change(list)])) as unknown as Arrivals;
}

/** The stream is not filtered: an edge waits in the lists that its kind belongs to. */
export function withArrival(known: Arrivals, edge: TimelineEdge): Arrivals {
  const { node } = edge;
  return node === null ? known : each((list) => isIn(list, node.kind) ? insertEdge(known[list], edge) : known[list]);
}

export function withoutArrivals(known: Arrivals, isGone: (node: NonNullable<TimelineEdge["node"]>) => boolean): Arrivals {
  return each((list) => known[list].filter(({ node }) => node !== null && !isGone(node)));
}
