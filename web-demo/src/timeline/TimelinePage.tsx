// The viewer's timeline: compose, what is new, and everything that the followed authors have published.
import { useConnection, useViewer } from "@tidefeed/react";
import { useRef, useState } from "react";
import { TIMELINE_LISTS } from "../api/timelineLists";
import { KindTabs, LIST_NAMES } from "../content/KindTabs";
import { PostList } from "../content/PostList";
import { ErrorNotice } from "../parts/ErrorNotice";
import { PostSkeletons } from "../parts/Skeletons";
import { countOf } from "../parts/numbers";
import { useIsWide } from "../parts/useIsWide";
import { SomePeople } from "../people/SomePeople";
import { timelineListPath } from "../routing";
import { Composer } from "./Composer";
import { CONNECTION_NAMES } from "./connectionNames";
import { EmptyTimeline } from "./EmptyTimeline";
import { NewPostsPill } from "./NewPostsPill";
import type { Timeline } from "./useTimeline";

/** Who follows fewer is shown some people. */
const FEW_FOLLOWED = 5;

/** Whether the reader is shown whom to follow: as long as they stay here, so that nothing moves with the last follow. */
function useIsBeginning(): boolean {
  const viewer = useViewer().value;
  const [is, setIs] = useState<boolean | null>(null);
  if (is === null && viewer !== null) setIs((viewer.followingCount ?? FEW_FOLLOWED) < FEW_FOLLOWED);
  return is === true;
}

export function TimelinePage({ timeline }: { timeline: Timeline }) {
  const { list, posts, error, nextPage, waiting } = timeline;
  const state = useConnection();
  const isBeginning = useIsBeginning();
  const isKnown = !useViewer().isLoading;
  const isWide = useIsWide();
  const heading = useRef<HTMLHeadingElement>(null);
  const title = list === "EVERYTHING" ? "Timeline · Tidefeed" : `${LIST_NAMES[list]} · Timeline · Tidefeed`;

  function showNew() {
    timeline.showNew();
    window.scrollTo(0, 0);
    heading.current?.focus({ preventScroll: true });
  }

  return (
    <>
      <title>{waiting > 0 ? `(${countOf(waiting)}) ${title}` : title}</title>
      <div className="page-head timeline-head">
        <h1 ref={heading} tabIndex={-1}>Timeline</h1>
        <NewPostsPill waiting={waiting} onShow={showNew} />
        <span className={state === "live" ? "live on" : "live"} role="status" data-testid="live">{CONNECTION_NAMES[state]}</span>
      </div>
      {isWide && <Composer isInline />}
      <KindTabs label="What of your timeline is shown" lists={TIMELINE_LISTS} list={list} pathOf={timelineListPath} />
      {isBeginning && list === "EVERYTHING" && <SomePeople isStrip />}
      {posts === null && error !== null && <ErrorNotice title="Your timeline did not load" error={error} onRetry={timeline.retry} />}
      {(posts === null ? error === null : !isKnown) && <PostSkeletons count={6} label="Loading your timeline" />}
      {isKnown && posts?.length === 0 && !nextPage.exists && <EmptyTimeline list={list} />}
      {isKnown && posts !== null && (
        <PostList key={list} label={list === "EVERYTHING" ? "Your timeline" : `Your timeline, ${LIST_NAMES[list].toLowerCase()} only`}
          posts={posts} nextPage={nextPage} readFrom={timeline.readFrom} />
      )}
    </>
  );
}
