import type { TimelineList } from "../api/timelineLists";
import type { ProfileList } from "../routing";

export const LIST_NAMES: Record<TimelineList | ProfileList, string> = {
  EVERYTHING: "All", POST: "Posts", REPLY: "Replies", REPOST: "Reposts", MEDIA: "Media", LIKES: "Likes",
};

interface KindTabsProps<List> {
  label: string;
  lists: readonly List[];
  list: List;
  pathOf: (list: List) => string;
}

/** Where not all tabs have room side by side, the current one is in view. */
function showCurrent(tabs: HTMLElement | null) {
  const current = tabs?.querySelector<HTMLElement>("[aria-current]");
  if (tabs != null && current != null) tabs.scrollLeft = current.offsetLeft - tabs.offsetLeft + current.offsetWidth - tabs.clientWidth;
}

/** Which of several lists is shown; each has an address of its own, so that "back" leads to the one before. */
export function KindTabs<List extends TimelineList | ProfileList>({ label, lists, list, pathOf }: KindTabsProps<List>) {
  return (
    <nav className="tabs card small" aria-label={label} ref={showCurrent}>
      {lists.map((one) => (
        <a key={one} href={pathOf(one)} aria-current={one === list ? "page" : undefined} data-testid={`list-${one.toLowerCase()}`}>
          {LIST_NAMES[one]}
        </a>
      ))}
    </nav>
  );
}
