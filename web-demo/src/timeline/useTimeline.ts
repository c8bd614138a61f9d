// The viewer's timeline as the page shows it: one of the package's lists, how much waits, and what had been read before this visit.
import type { Content, TimelineSnapshot } from "@tidefeed/client";
import { useObservable, useViewer } from "@tidefeed/react";
import { useEffect, useMemo, useState } from "react";
import type { NextPage } from "../api/useRead";
import { type TimelineList, timelineOf } from "../api/timelineLists";

const READ_AFTER_MS = 1_500;

export interface Timeline {
  /** Which list of it this is. */
  list: TimelineList;
  /** Null until the first page is there. */
  posts: readonly Content[] | null;
  error: Error | null;
  nextPage: NextPage;
  /** How many posts have arrived and are not shown yet. */
  waiting: number;
  /** The newest post that the reader had seen before. */
  readFrom: string | undefined;
  showNew: () => void;
  retry: () => void;
}

/** Up to where they had read before this visit, or have read on another device since. What they read here is marked while it is in front of them. */
function useReadMarker({ entries, readMarker }: TimelineSnapshot, isShown: boolean): string | null {
  const viewer = useViewer().value;
  const [first, setFirst] = useState<{ cursor: string | null } | null>(null);
  const [marked, setMarked] = useState<string | null>(null);
  const [elsewhere, setElsewhere] = useState<string | null>(null);
  if (first === null && viewer !== null) setFirst({ cursor: viewer.timelineReadMarker });
  if (first !== null && readMarker !== null && ![first.cursor, marked, elsewhere].includes(readMarker)) setElsewhere(readMarker);
  const top = entries.find(({ cursor }) => cursor !== null)?.cursor ?? null;
  const isKnown = first !== null;

  useEffect(() => {
    if (!isShown || top === null || !isKnown || top === marked) return;
    const timer = setTimeout(() => {
      if (document.visibilityState !== "visible") return;
      setMarked(top);
      // Best effort: the next visit, or the next entry, marks again.
      timelineOf("EVERYTHING").markRead(top).catch(() => { setMarked(null); });
    }, READ_AFTER_MS);
    return () => { clearTimeout(timer); };
  }, [isShown, top, isKnown, marked]);

  return elsewhere ?? first?.cursor ?? null;
}

/** `shown`: the list that is; null while another page is, which tells of all that waits. */
export function useTimeline(shown: TimelineList | null): Timeline {
  const list = shown ?? "EVERYTHING";
  const everything = useObservable(timelineOf("EVERYTHING"));
  const timeline = timelineOf(list);
  const { status, entries, error, newCount, hasOlder, isLoadingOlder } = useObservable(timeline);
  const readUpTo = useReadMarker(everything, shown !== null);
  const posts = useMemo(() => entries.map(({ content }) => content), [entries]);
  const isReady = status === "ready";
  return {
    list,
    posts: isReady ? posts : null,
    error: isReady ? null : error,
    nextPage: { exists: hasOlder, loading: isLoadingOlder, error: isReady && !isLoadingOlder ? error : null, after: entries.length, load: timeline.loadOlder },
    waiting: newCount,
    readFrom: entries.find(({ cursor }) => cursor !== null && cursor === readUpTo)?.id,
    showNew: timeline.showNew,
    retry: timeline.refresh,
  };
}
