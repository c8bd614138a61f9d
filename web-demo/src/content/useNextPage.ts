// Reading on at the end of a list: one request for each end, and a failure waits for the reader to ask again.
import { useState } from "react";

export interface NextPage {
  exists: boolean;
  loading: boolean;
  /** Why the last attempt failed; null if it did not. */
  error: unknown;
  /** Where the page begins; changes with every page that was read. */
  after: string | null;
  load: () => Promise<void>;
}

interface PageEnd {
  hasNextPage: boolean;
  endCursor: string | null;
}

interface Attempt {
  list: string;
  after: string;
  loading: boolean;
  error: unknown;
}

/** `list` names what is read on where that changes: two lists may end at the same entry. */
export function useNextPage(end: PageEnd | null | undefined, fetchAfter: (cursor: string) => Promise<unknown>, list = ""): NextPage {
  const [latest, setLatest] = useState<Attempt | null>(null);
  const after = end?.hasNextPage === true ? end.endCursor : null;
  // An attempt counts only for the end that it was made from: the list may have been read anew since.
  const attempt = latest?.after === after && latest.list === list ? latest : null;

  async function load() {
    if (after === null || attempt?.loading === true) return;
    const finish = (error: unknown) => {
      setLatest((current) => current?.after === after && current.list === list ? { ...current, loading: false, error } : current);
    };
    setLatest({ list, after, loading: true, error: null });
    try {
      await fetchAfter(after);
      finish(null);
    } catch (reason) {
      finish(reason);
    }
  }

  return { exists: after !== null, loading: attempt?.loading ?? false, error: attempt?.error ?? null, after, load };
}
