// The one place that changes the cached timeline by hand: entries that came, entries that left, and starting afresh.
import { type ApolloCache, type ApolloClient } from "@apollo/client";
import type { TimelineQuery } from "../gql/graphql";
import { TimelineDocument } from "./documents";
import { filterOf, isIn, TIMELINE_LISTS, type TimelineList } from "./timelineLists";

export type TimelineEdge = NonNullable<TimelineQuery["timeline"]>["edges"][number];

/**
 * `edges` with `edge` at its place by publish time, newest first; unchanged if it is there already. Of entries with the same
 * subject the newest stands, as on the server's pages. Entries of the same millisecond are put before those that are already
 * shown: their exact order is the server's, and the next read has it.
 */
export function insertEdge(edges: readonly TimelineEdge[], edge: TimelineEdge): TimelineEdge[] {
  const { node } = edge;
  if (node === null || edges.some((other) => other.node?.id === node.id)) return [...edges];
  const time = Date.parse(node.publishTime);
  const isOlder = ({ node: other }: TimelineEdge) => other !== null && Date.parse(other.publishTime) <= time;
  const isSame = ({ node: other }: TimelineEdge) => other !== null && other.subjectId === node.subjectId;
  if (edges.some((other) => isSame(other) && !isOlder(other))) return [...edges];
  const others = edges.filter((other) => !isSame(other));
  const index = others.findIndex(isOlder);
  return index === -1 ? [...others, edge] : others.toSpliced(index, 0, edge);
}

/** From when on everything is loaded. */
export function oldestTime({ pageInfo, oldestTime: oldest }: NonNullable<TimelineQuery["timeline"]>): number {
  return pageInfo.hasNextPage && oldest !== null ? Date.parse(oldest) : -Infinity;
}

/** Changes the entries of those `lists` that have been read. */
function update(
  cache: ApolloCache,
  lists: readonly TimelineList[],
  change: (edges: readonly TimelineEdge[], list: TimelineList, oldest: number) => readonly TimelineEdge[],
) {
  for (const list of lists) {
    cache.updateQuery({ query: TimelineDocument, variables: filterOf(list) }, (data) => {
      if (data?.timeline == null) return data;
      const { edges } = data.timeline;
      return { timeline: { ...data.timeline, edges: [...change(edges, list, oldestTime(data.timeline))] } };
    });
  }
}

/** Inserts edges into those `lists` that hold their kinds. What is older than the loaded part is left to the pages to come. */
export function addToTimeline(cache: ApolloCache, arrivals: readonly TimelineEdge[], lists = TIMELINE_LISTS) {
  update(cache, lists, (edges, list, oldest) => arrivals.reduce((known, edge) => {
    const isOf = edge.node !== null && isIn(list, edge.node.kind) && Date.parse(edge.node.publishTime) >= oldest;
    return isOf ? insertEdge(known, edge) : known;
  }, edges));
}

export function removeFromTimeline(cache: ApolloCache, contentId: string, lists = TIMELINE_LISTS) {
  update(cache, lists, (edges) => edges.filter(({ node }) => node?.id !== contentId));
}

/** Takes out of everything what was kept until a newer entry of its subject was shown, which has gone instead. */
export function removeSubject(cache: ApolloCache, subjectId: string) {
  update(cache, ["EVERYTHING"], (edges) => edges.filter(({ node }) => node?.subjectId !== subjectId));
}

function nodesOf(cache: ApolloCache, list: TimelineList) {
  const data = cache.readQuery({ query: TimelineDocument, variables: filterOf(list) });
  return data?.timeline?.edges.flatMap(({ node }) => node ?? []) ?? [];
}

/** Whether a newer entry of the content's subject is among `entries`. */
export function standsFor(cache: ApolloCache, entries: readonly TimelineEdge[], contentId: string): boolean {
  const known = TIMELINE_LISTS.flatMap((list) => nodesOf(cache, list)).find(({ id }) => id === contentId);
  const isNewer = ({ node }: TimelineEdge) => node !== null && known !== undefined && node.id !== contentId
    && node.subjectId === known.subjectId && Date.parse(node.publishTime) >= Date.parse(known.publishTime);
  return entries.some(isNewer);
}

/** What is loaded of everything. */
export function loadedEdges(cache: ApolloCache): readonly TimelineEdge[] {
  return cache.readQuery({ query: TimelineDocument })?.timeline?.edges ?? [];
}

export function removeAuthorFromTimeline(cache: ApolloCache, authorId: string) {
  update(cache, TIMELINE_LISTS, (edges) => edges.filter(({ node }) => node?.author?.id !== authorId));
}

/** Drops the cached timeline, all of its lists; what is shown of it is read again at once. */
export function forgetTimeline(cache: ApolloCache) {
  cache.evict({ id: "ROOT_QUERY", fieldName: "timeline" });
}

export function isRead(cache: ApolloCache, list: TimelineList): boolean {
  return cache.readQuery({ query: TimelineDocument, variables: filterOf(list) })?.timeline != null;
}

/**
 * Reads the first page again, of everything, then of `shown` and of every other list that has been read; it takes the place of
 * all that was loaded. Never shares the answer of a request that is under way: that one may have been answered before what made
 * this one necessary.
 */
export async function refreshTimeline(client: ApolloClient, shown: TimelineList = "EVERYTHING") {
  const read = (list: TimelineList) => client.query({
    query: TimelineDocument, variables: filterOf(list), fetchPolicy: "network-only", context: { queryDeduplication: false },
  });
  const others = TIMELINE_LISTS.filter((list) => list !== "EVERYTHING" && (list === shown || isRead(client.cache, list)));
  await read("EVERYTHING");
  await Promise.all(others.map(read));
}

/** The cursor of the newest loaded entry of all; null if none is loaded. */
export function topCursor(cache: ApolloCache): string | null {
  return cache.readQuery({ query: TimelineDocument })?.timeline?.edges[0]?.cursor ?? null;
}

/** Forgets a deleted content everywhere, and counts it out of its author's posts. */
export function forgetContent(cache: ApolloCache, contentId: string, authorId: string | undefined) {
  cache.evict({ id: cache.identify({ __typename: "Content", id: contentId }) });
  if (authorId === undefined) return;
  cache.modify<{ contentCount: number | null }>({
    id: cache.identify({ __typename: "User", id: authorId }),
    fields: { contentCount: (count) => count === null ? null : Math.max(0, count - 1) },
  });
}
