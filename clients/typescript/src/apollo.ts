// The same list in the cache of Apollo Client.
import { type ApolloCache, gql, type TypedDocumentNode } from "@apollo/client";
import { keep, TEXT, TEXT_OF_KINDS, type TimelineData } from "./connection.js";
import type { Timeline } from "./timeline.js";
import type { ContentKind } from "./types.js";

export type { TimelineConnection, TimelineData } from "./connection.js";

/** The list, to be read with the fetch policy "cache-only"; so does any query that asks for some of its fields. */
export const TIMELINE: TypedDocumentNode<TimelineData, Record<string, never>> = gql(TEXT);
/** That of a timeline of some kinds. */
export const TIMELINE_OF_KINDS: TypedDocumentNode<TimelineData, { kinds: readonly ContentKind[] }> = gql(TEXT_OF_KINDS);

/** Keeps what `timeline` shows in `cache`, and drops drafts from it that have made way. Returns a function that ends it. */
export function keepInCache(timeline: Timeline, cache: ApolloCache): () => void {
  const { kinds } = timeline;
  let drafts = new Set<string>();
  return keep(timeline, (data) => {
    const before = drafts;
    drafts = new Set(timeline.getSnapshot().entries.flatMap(({ id, isDraft }) => (isDraft ? [id] : [])));
    cache.batch({
      update: () => {
        if (kinds === null) cache.writeQuery({ query: TIMELINE, data, overwrite: true });
        else cache.writeQuery({ query: TIMELINE_OF_KINDS, variables: { kinds }, data, overwrite: true });
        for (const id of before) if (!drafts.has(id)) cache.evict({ id: `Content:${id}` });
      },
    });
  });
}
