import { TIMELINE_LISTS, type TimelineList } from "../api/timelineLists";
import { timelineListPath } from "../routing";

export const LIST_NAMES: Record<TimelineList, string> = { EVERYTHING: "Everything", POST: "Posts", REPLY: "Replies", REPOST: "Reposts" };

/** What of the timeline is shown; each has an address of its own, so that "back" leads to the one before. */
export function TimelineTabs({ list }: { list: TimelineList }) {
  return (
    <nav className="tabs card small" aria-label="What of your timeline is shown">
      {TIMELINE_LISTS.map((one) => (
        <a key={one} href={timelineListPath(one)} aria-current={one === list ? "page" : undefined} data-testid={`list-${one.toLowerCase()}`}>
          {LIST_NAMES[one]}
        </a>
      ))}
    </nav>
  );
}
