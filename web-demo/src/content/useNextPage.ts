// Reading on at the end of a list: one request at a time, and a failure waits for the reader to ask again.
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

export function useNextPage(end: PageEnd | null | undefined, fetchAfter: (cursor: string) => Promise<unknown>): NextPage {
  const [loading, setLoading] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const after = end?.hasNextPage === true ? end.endCursor : null;

  async function load() {
    if (loading || after === null) return;
    setLoading(true);
    setError(null);
    try {
      await fetchAfter(after);
    } catch (reason) {
      setError(reason);
    } finally {
      setLoading(false);
    }
  }

  return { exists: after !== null, loading, error, after, load };
}
