// The viewer's timeline: compose, what is new, and everything that the followed authors have published.
import { useRef } from "react";
import { type Connection, type ConnectionState, useConnectionState } from "../api/connection";
import { PostList } from "../content/PostList";
import { ErrorNotice } from "../parts/ErrorNotice";
import { PostSkeletons } from "../parts/Skeletons";
import { countOf } from "../parts/numbers";
import { Composer } from "./Composer";
import { EmptyTimeline } from "./EmptyTimeline";
import { NewPostsPill } from "./NewPostsPill";
import { LIST_NAMES, TimelineTabs } from "./TimelineTabs";
import type { Timeline } from "./useTimeline";

const STATE_NAMES: Record<ConnectionState, string> = {
  connecting: "Connecting…", live: "Live", reconnecting: "Reconnecting…", offline: "Offline",
};

interface TimelinePageProps {
  timeline: Timeline;
  connection: Connection;
}

export function TimelinePage({ timeline, connection }: TimelinePageProps) {
  const { list, posts, error, nextPage } = timeline;
  const state = useConnectionState(connection);
  const heading = useRef<HTMLHeadingElement>(null);
  const title = list === "EVERYTHING" ? "Timeline · Tidefeed" : `${LIST_NAMES[list]} · Timeline · Tidefeed`;

  function showNew() {
    timeline.showNew();
    window.scrollTo(0, 0);
    heading.current?.focus({ preventScroll: true });
  }

  return (
    <>
      <title>{timeline.waiting > 0 ? `(${countOf(timeline.waiting, timeline.andMore)}) ${title}` : title}</title>
      <div className="page-head">
        <h1 ref={heading} tabIndex={-1}>Timeline</h1>
        <span className={state === "live" ? "live on" : "live"} role="status" data-testid="live">{STATE_NAMES[state]}</span>
      </div>
      <Composer />
      <TimelineTabs list={list} />
      <NewPostsPill waiting={timeline.waiting} andMore={timeline.andMore} outdated={timeline.outdated} onShow={showNew} />
      {posts === null && error !== undefined && <ErrorNotice title="Your timeline did not load" error={error} onRetry={timeline.retry} />}
      {posts === null && error === undefined && <PostSkeletons count={6} label="Loading your timeline" />}
      {posts?.length === 0 && !nextPage.exists && <EmptyTimeline list={list} />}
      {posts !== null && (
        <PostList key={list} label={list === "EVERYTHING" ? "Your timeline" : `Your timeline, ${LIST_NAMES[list].toLowerCase()} only`}
          posts={posts} nextPage={nextPage} readFrom={timeline.readFrom} />
      )}
    </>
  );
}
