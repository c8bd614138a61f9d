// The same list in urql's cache: in Graphcache, or in that of documents.
import { composeExchanges, type Exchange, getOperationName, gql, makeOperation, type Operation, type OperationResult, type TypedDocumentNode } from "@urql/core";
import { filter, makeSubject, map, merge, pipe } from "wonka";
import { keep, TEXT, TEXT_OF_KINDS, type TimelineData } from "./connection.js";
import type { Timeline } from "./timeline.js";
import type { ContentKind } from "./types.js";

export type { TimelineConnection, TimelineData } from "./connection.js";

/** The list. It goes on: each change of it is another result. */
export const TIMELINE: TypedDocumentNode<TimelineData, Record<string, never>> = gql(TEXT);
/** That of a timeline of some kinds. */
export const TIMELINE_OF_KINDS: TypedDocumentNode<TimelineData, { kinds: readonly ContentKind[] }> = gql(TEXT_OF_KINDS);

const NAMES = [TEXT, TEXT_OF_KINDS].map((text) => text.split(/\W/, 2)[1]);

export interface TimelineExchangeOptions {
  /** What answers `TIMELINE` and `TIMELINE_OF_KINDS`: one of each kinds. */
  timelines: readonly Timeline[];
  /** The cache that keeps the answers, such as `cacheExchange({})`. */
  cache: Exchange;
}

/** Stands in the place of the cache's exchange. A query for a timeline that is not among `timelines` goes to the server. */
export function timelineExchange({ timelines, cache }: TimelineExchangeOptions): Exchange {
  const watched = new Map<number, () => void>();
  const timelineOf = ({ kind, query, variables }: Operation) => (kind !== "query" || !NAMES.includes(getOperationName(query)) ? undefined
    : timelines.find(({ kinds }) => JSON.stringify(kinds) === JSON.stringify((variables as { kinds?: unknown } | undefined)?.kinds ?? null)));
  function leave({ key }: Operation) {
    watched.get(key)?.();
    watched.delete(key);
  }

  /** An answer that is cached still has to be watched. Once it is, the cache knows best. */
  const ahead: Exchange = ({ forward }) => (operations) => forward(pipe(operations, map((operation) => {
    const { requestPolicy } = operation.context;
    if (requestPolicy !== "cache-first" || watched.has(operation.key) || timelineOf(operation) === undefined) return operation;
    return makeOperation(operation.kind, operation, { ...operation.context, requestPolicy: "cache-and-network" });
  })));

  const behind: Exchange = ({ forward }) => (operations) => {
    const { source, next } = makeSubject<OperationResult>();
    const others = pipe(operations, filter((operation) => {
      if (operation.kind === "teardown") leave(operation);
      const timeline = timelineOf(operation);
      if (timeline === undefined) return true;
      leave(operation);
      watched.set(operation.key, keep(timeline, (data) => { next({ operation, data, stale: false, hasNext: false }); }));
      return false;
    }));
    return merge([source, forward(others)]);
  };

  return composeExchanges([ahead, cache, behind]);
}
