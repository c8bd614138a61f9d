// What a component reads: the answer to a document, and the further pages of its list.
import type { QueryOptions, QuerySnapshot } from "@tidefeed/client";
import { useConnection, useQuery } from "@tidefeed/react";
import { useEffect, useEffectEvent } from "react";
import type { TypedDocumentString } from "../gql/graphql";

/** Reading on at the end of a list: one request for each end, and a failure waits for the reader to ask again. */
export interface NextPage {
  exists: boolean;
  loading: boolean;
  /** Why the last attempt failed; null if it did not. */
  error: unknown;
  /** Changes with every page that was read, also with one that has added nothing. */
  after: number;
  load: () => Promise<void>;
}

export interface Reading<Data> {
  /** Null before there is an answer. */
  data: Data | null;
  loading: boolean;
  error: Error | null;
  nextPage: NextPage;
  refresh: () => Promise<void>;
}

type Asked<Data> = QuerySnapshot<Data> & { refresh: () => Promise<void>; loadMore: () => Promise<void> };

/** The answer to `document`, kept current with what the viewer and others do, and with it the next page of its list. */
export function useRead<Data, Variables extends Record<string, unknown>>(
  document: TypedDocumentString<Data, Variables>, variables: NoInfer<Variables>, options?: QueryOptions,
): Reading<Data> {
  const { value, isLoading, error, hasMore, isLoadingMore, pages, moreError, refresh, loadMore }: Asked<Data> = useQuery<Data>(document.toString(), variables, options);
  const isLive = useConnection() === "live";
  // What failed while the server was away is asked again when it is back.
  const askAgain = useEffectEvent(() => { if (error !== null) void refresh(); });
  useEffect(() => { if (isLive) askAgain(); }, [isLive]);
  const nextPage = { exists: hasMore, loading: isLoadingMore, error: moreError, after: pages, load: loadMore };
  return { data: value, loading: isLoading, error: isLoading ? null : error, nextPage, refresh };
}
