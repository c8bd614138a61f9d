// The lists that the timeline is read as: everything, or one kind of content alone. Each is read, paged and cached for itself.
import type { ContentKind, TimelineQueryVariables } from "../gql/graphql";

export type TimelineList = "EVERYTHING" | ContentKind;

export const TIMELINE_LISTS: readonly TimelineList[] = ["EVERYTHING", "POST", "REPLY", "REPOST"];

/** What to ask for, to read `list`. */
export function filterOf(list: TimelineList): Pick<TimelineQueryVariables, "filter"> {
  return list === "EVERYTHING" ? {} : { filter: { kinds: [list] } };
}

/** Whether a content of this kind stands in `list`: as the server's filter decides. */
export function isIn(list: TimelineList, kind: ContentKind): boolean {
  return list === "EVERYTHING" || list === kind;
}
