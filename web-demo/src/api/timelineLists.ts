// The lists that the timeline is read as: everything, or one kind of content alone. Each is a list of the package's, for as long as somebody is signed in.
import type { ContentKind, Timeline } from "@tidefeed/client";
import { tidefeed } from "./tidefeed";

export type TimelineList = "EVERYTHING" | ContentKind;

export const TIMELINE_LISTS: readonly TimelineList[] = ["EVERYTHING", "POST", "REPLY", "REPOST"];

const known = new Map<TimelineList, Timeline>();

/** What others publish waits there until the reader asks for it. */
export function timelineOf(list: TimelineList): Timeline {
  const timeline = known.get(list) ?? tidefeed.timeline({ holdNew: true, ...(list === "EVERYTHING" ? {} : { kinds: [list] }) });
  known.set(list, timeline);
  return timeline;
}
