// The viewer's timeline and what newFeed says about it: arrivals wait until the reader asks for them.
import { useApolloClient, useQuery, useSubscription } from "@apollo/client/react";
import { useEffect, useEffectEvent, useState } from "react";
import type { Connection } from "../api/connection";
import { NewCountDocument, NewFeedDocument, TimelineDocument } from "../api/documents";
import {
  addToTimeline, isRead, loadedEdges, oldestTime, refreshTimeline, removeAuthorFromTimeline, removeFromTimeline, removeSubject, standsFor, topCursor,
} from "../api/timelineCache";
import { filterOf, type TimelineList } from "../api/timelineLists";
import { readPage } from "../api/endlessConnection";
import { type NextPage, useNextPage } from "../content/useNextPage";
import type { NewFeedSubscription, PostFragment } from "../gql/graphql";
import { NO_ARRIVALS, withArrival, withoutArrivals } from "./arrivals";
import { useReadMarker } from "./useReadMarker";

// A reader who is this near to the top does not lose their place when the first page is read again.
const NEAR_TOP_PX = 300;
const RESUBSCRIBE_MS = 3_000;

export interface Timeline {
  /** Which list of it this is. */
  list: TimelineList;
  /** Null until the first page is there. */
  posts: PostFragment[] | null;
  error: unknown;
  nextPage: NextPage;
  /** How many posts have arrived and are not shown yet. */
  waiting: number;
  /** Whether there are more than `waiting`, which nobody has counted. */
  andMore: boolean;
  /** What is shown may differ from the server's timeline in more than the waiting posts. */
  outdated: boolean;
  /** The newest post that the reader had seen before. */
  readFrom: string | undefined;
  showNew: () => void;
  retry: () => void;
}

const NOTHING_MISSED = { count: 0, isCapped: false };

export function useTimeline(connection: Connection, list: TimelineList): Timeline {
  const client = useApolloClient();
  // The stream is not filtered and goes on from here, whichever list is shown: so another list is read after this one, lest it miss
  // what came in between.
  const everything = useQuery(TimelineDocument);
  const isReadable = list === "EVERYTHING" || everything.data !== undefined;
  const { data, error = everything.error } = useQuery(TimelineDocument, { variables: filterOf(list), skip: !isReadable });
  const [arrivals, setArrivals] = useState(NO_ARRIVALS);
  // What came of all kinds while nobody listened: a number only, for a reader who asks gets the timeline read again.
  const [missed, setMissed] = useState(NOTHING_MISSED);
  const [outdated, setOutdated] = useState(false);
  const shown = data?.timeline;
  // Of one kind alone not everything above the marker would have been read.
  const marker = useReadMarker(list === "EVERYTHING" ? shown?.edges[0]?.cursor ?? null : null);
  const nextPage = useNextPage(shown?.pageInfo, (after) => readPage(client, TimelineDocument, { ...filterOf(list), after }), list);

  async function refresh() {
    setArrivals(NO_ARRIVALS);
    setMissed(NOTHING_MISSED);
    try {
      await refreshTimeline(client, list);
      // What was counted meanwhile was counted from the old top.
      setMissed(NOTHING_MISSED);
      setOutdated(false);
    } catch {
      setOutdated(true);
    }
  }

  /** More has changed than events tell: read again, or, for a reader far down, count what is newer and offer it. */
  async function catchUp() {
    const top = topCursor(client.cache);
    if (top === null || window.scrollY < NEAR_TOP_PX) {
      await refresh();
      return;
    }
    setOutdated(true);
    const newer = await client.query({ query: NewCountDocument, variables: { after: top }, fetchPolicy: "no-cache" });
    if (topCursor(client.cache) !== top) {
      // The timeline was read anew meanwhile, and shows what was counted.
      setOutdated(false);
      return;
    }
    setArrivals(NO_ARRIVALS);
    setMissed(newer.data?.newContentCount ?? NOTHING_MISSED);
  }

  /** What is gone goes from every list. An entry for which a newer one stands, told just before, stays among its kind; and in everything until that one is shown. */
  function leave(id: string) {
    const waits = arrivals.EVERYTHING.find(({ node }) => node?.id === id)?.node;
    if (waits != null) removeSubject(client.cache, waits.subjectId);
    if (standsFor(client.cache, loadedEdges(client.cache), id)) removeFromTimeline(client.cache, id, ["EVERYTHING"]);
    else if (!standsFor(client.cache, arrivals.EVERYTHING, id)) removeFromTimeline(client.cache, id);
    setArrivals((known) => withoutArrivals(known, (node) => node.id === id));
  }

  function take({ newFeed }: NewFeedSubscription) {
    const { timelineEdge: edge, removedContentId: removed, removedAuthorId: author } = newFeed;
    const reading = !isRead(client.cache, list);
    if (edge?.node?.viewerIsAuthor === true && !reading) addToTimeline(client.cache, [edge]);
    else if (edge !== null) setArrivals((known) => withArrival(known, edge));
    if (removed !== null) leave(removed);
    if (author !== null) {
      removeAuthorFromTimeline(client.cache, author);
      setArrivals((known) => withoutArrivals(known, (node) => node.author?.id === author));
    }
    // The page that is under way may still have what has gone.
    if (reading && (removed ?? author) !== null) setOutdated(true);
    if (newFeed.readMarker !== null) marker.moved(newFeed.readMarker);
    // A new author's entries belong to pages that were read further down, too.
    const outOfDate = newFeed.refetch || newFeed.relationChange?.viewerIsFollowing === true;
    if (outOfDate) catchUp().catch(() => { setOutdated(true); });
  }

  useNewFeed(connection, everything.data?.timeline?.resumeToken ?? null, take);

  const shownIds = new Set(shown?.edges.map(({ node }) => node?.id));
  // What is told late, and older than all that is loaded, comes with the pages to come.
  const oldest = shown == null ? -Infinity : oldestTime(shown);
  const isBelow = (time: string) => Date.parse(time) < oldest;
  const waiting = arrivals[list].filter(({ node }) => node !== null && !shownIds.has(node.id) && !isBelow(node.publishTime));

  function showNew() {
    if (outdated) void refresh();
    else {
      addToTimeline(client.cache, waiting, [list]);
      setArrivals((known) => ({ ...known, [list]: [] }));
    }
  }

  // A page further down may have an older entry of what is shown above.
  const subjects = new Set<string>();
  const stands = ({ subjectId }: PostFragment) => !subjects.has(subjectId) && subjects.add(subjectId).has(subjectId);
  const posts = shown?.edges.flatMap(({ node }) => node ?? []).filter(stands) ?? null;
  const readFrom = shown?.edges.find(({ cursor }) => cursor === marker.readUpTo)?.node?.id;
  const uncounted = list === "EVERYTHING" ? missed : NOTHING_MISSED;
  return {
    list, posts, error, nextPage, outdated, readFrom, showNew,
    waiting: uncounted.count + waiting.length, andMore: uncounted.isCapped, retry: () => { void refresh(); },
  };
}

/** Subscribes for as long as the page stands: from `token` on, and after a break from where it was. */
function useNewFeed(connection: Connection, token: string | null, onEvent: (event: NewFeedSubscription) => void) {
  const [endings, setEndings] = useState(0);
  const countEnding = () => { setEndings((count) => count + 1); };
  const { restart } = useSubscription(NewFeedDocument, {
    variables: { after: token },
    skip: token === null,
    ignoreResults: true,
    onData: ({ data: { data } }) => {
      if (data === undefined) return;
      if (data.newFeed.resumeToken !== null) connection.resumeWith(data.newFeed.resumeToken);
      onEvent(data);
    },
    onComplete: countEnding,
    onError: countEnding,
  });
  const resume = useEffectEvent(restart);
  useEffect(() => () => { connection.resumeWith(null); }, [connection, token]);
  useEffect(() => {
    if (endings === 0) return;
    const timer = setTimeout(() => { resume(); }, RESUBSCRIBE_MS);
    return () => { clearTimeout(timer); };
  }, [endings]);
}
