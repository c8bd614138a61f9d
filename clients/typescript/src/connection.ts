// What a timeline shows, as the connection that a GraphQL library keeps in its cache: the adapters for Apollo, urql and Relay are made of it.
import { EDGE } from "./documents.js";
import type { Observable } from "./observable.js";
import type { Entry, TimelineSnapshot } from "./snapshot.js";
import type { Timeline } from "./timeline.js";
import type { Content } from "./types.js";

/** As cached: with the name of its type in each object. A draft's cursor is "". */
export interface TimelineConnection {
  __typename: "TimelineConnection";
  edges: { __typename: "TimelineEdge"; cursor: string; node: Content & { __typename: "Content" } }[];
  pageInfo: { __typename: "PageInfo"; hasNextPage: boolean; endCursor: string | null };
}

/** `timeline` is null when nobody is signed in. */
export interface TimelineData { timeline: TimelineConnection | null }

export const SELECTION = `edges { ${EDGE} } pageInfo { hasNextPage endCursor }`;
/** The whole timeline. */
export const TEXT = `query TidefeedTimeline { timeline { ${SELECTION} } }`;
/** That of some kinds. */
export const TEXT_OF_KINDS = `query TidefeedTimelineOfKinds($kinds: [ContentKind!]!) { timeline(filter: { kinds: $kinds }) { ${SELECTION} } }`;

/** The type of what each field gives, as in schema.graphql. */
export const TYPES: Record<string, string> = {
  timeline: "TimelineConnection", edges: "TimelineEdge", node: "Content", pageInfo: "PageInfo", author: "User", media: "Media",
  inReplyTo: "Content", repostOf: "Content",
};

/** `value` of `field` with `__typename` in each object. */
function named(value: unknown, field: string): unknown {
  if (Array.isArray(value)) return value.map((one) => named(one, field));
  if (typeof value !== "object" || value === null) return value;
  return { __typename: TYPES[field], ...Object.fromEntries(Object.entries(value).map(([name, one]) => [name, named(one, name)])) };
}

const isSame = (one: TimelineSnapshot, other: TimelineSnapshot) => one.status === other.status && one.hasOlder === other.hasOlder
  && one.entries.length === other.entries.length && one.entries.every((entry, at) => entry === other.entries[at]);

/** Watches `timeline`, and calls `put` with what it shows, now and when that has changed. Returns a function that ends it. */
export function keep(timeline: Pick<Timeline, keyof Observable<unknown>>, put: (data: TimelineData) => void): () => void {
  const edges = new WeakMap<Entry, unknown>();
  const edgeOf = (entry: Entry) => {
    if (!edges.has(entry)) edges.set(entry, named({ cursor: entry.cursor ?? "", node: entry.content }, "edges"));
    return edges.get(entry);
  };
  let shown: TimelineSnapshot | null = null;
  function show() {
    const next = timeline.getSnapshot();
    if (next.status === "loading" || (shown !== null && isSame(shown, next))) return;
    shown = next;
    const { entries, hasOlder, status } = next;
    const pageInfo = { __typename: TYPES.pageInfo, hasNextPage: hasOlder, endCursor: entries.at(-1)?.cursor ?? null };
    put({ timeline: status === "ready" ? { __typename: TYPES.timeline, edges: entries.map(edgeOf), pageInfo } as TimelineConnection : null });
  }
  const end = timeline.subscribe(show);
  show();
  return end;
}
