// Up to where the viewer has read, on whatever device. What they read here is marked while the page is in front of them.
import { useMutation, useQuery } from "@apollo/client/react";
import { useEffect, useState } from "react";
import { MarkTimelineReadDocument, ReadMarkerDocument } from "../api/documents";

const READ_AFTER_MS = 1_500;

export interface ReadMarker {
  /** The cursor of the newest entry that had been read before this visit; null if none was. */
  readUpTo: string | null;
  /** newFeed tells that a device has moved the marker. */
  moved: (cursor: string) => void;
}

/** `top` is the cursor of the newest entry that is shown; null if none is. */
export function useReadMarker(top: string | null): ReadMarker {
  const { data } = useQuery(ReadMarkerDocument, { fetchPolicy: "network-only" });
  const [mark] = useMutation(MarkTimelineReadDocument);
  const [elsewhere, setElsewhere] = useState<string | null>(null);
  const [marked, setMarked] = useState<string | null>(null);
  const [first, setFirst] = useState<{ cursor: string | null } | null>(null);
  if (first === null && data !== undefined) setFirst({ cursor: data.viewer?.timelineReadMarker ?? null });
  const known = first !== null;

  useEffect(() => {
    if (top === null || !known || top === marked) return;
    const timer = setTimeout(() => {
      if (document.visibilityState !== "visible") return;
      setMarked(top);
      // Best effort: the next visit, or the next entry, marks again.
      mark({ variables: { input: { upTo: top } } }).catch(() => { setMarked(null); });
    }, READ_AFTER_MS);
    return () => { clearTimeout(timer); };
  }, [top, known, marked, mark]);

  const moved = (cursor: string) => { if (cursor !== marked) setElsewhere(cursor); };
  return { readUpTo: elsewhere ?? first?.cursor ?? null, moved };
}
