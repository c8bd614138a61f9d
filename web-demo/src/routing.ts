// Routes live in the hash, so that the server has to know one page only.
import { useEffect, useSyncExternalStore } from "react";
import { TIMELINE_LISTS, type TimelineList } from "./api/timelineLists";

/** A user's lists of people. */
export type FollowSide = "followers" | "following";

/** What a profile can be read as: what they have published, of all kinds, of one or with pictures, and what they like. */
export const PROFILE_LISTS = [...TIMELINE_LISTS, "MEDIA", "LIKES"] as const;
export type ProfileList = (typeof PROFILE_LISTS)[number];

/** What keeps the viewer and somebody else apart. */
export const EXCLUSIONS = ["mute", "hide", "block"] as const;
export type Exclusion = (typeof EXCLUSIONS)[number];

export type Route =
  | { page: "timeline"; list: TimelineList }
  | { page: "bookmarks" }
  | { page: "settings" }
  | { page: "explore" }
  | { page: "profile"; handle: string; list: ProfileList }
  | { page: FollowSide; handle: string }
  | { page: "thread"; id: string }
  | { page: "likers"; id: string }
  | { page: "exclusions"; exclusion: Exclusion }
  | { page: "search"; text: string }
  | { page: "unknown" };

export const timelinePath = "#/";
const LIST_PATHS: Record<TimelineList, string> = { EVERYTHING: timelinePath, POST: "#/posts", REPLY: "#/replies", REPOST: "#/reposts" };
export const bookmarksPath = "#/bookmarks";

export function timelineListPath(list: TimelineList): string {
  return LIST_PATHS[list];
}

export const settingsPath = "#/settings";
export const explorePath = "#/explore";
const EXCLUSION_PATHS: Record<Exclusion, string> = { mute: "#/muted", hide: "#/hidden", block: "#/blocked" };

export function exclusionsPath(exclusion: Exclusion): string {
  return EXCLUSION_PATHS[exclusion];
}

export function profilePath(handle: string): string {
  return `#/u/${encodeURIComponent(handle)}`;
}

const PROFILE_PATHS: Record<ProfileList, string> = { EVERYTHING: "", POST: "/posts", REPLY: "/replies", REPOST: "/reposts", MEDIA: "/media", LIKES: "/likes" };

export function profileListPath(handle: string, list: ProfileList): string {
  return `${profilePath(handle)}${PROFILE_PATHS[list]}`;
}

export function followsPath(handle: string, side: FollowSide): string {
  return `${profilePath(handle)}/${side}`;
}

export function threadPath(id: string): string {
  return `#/p/${encodeURIComponent(id)}`;
}

export function likersPath(id: string): string {
  return `${threadPath(id)}/likes`;
}

export function searchPath(text: string): string {
  return `#/s/${encodeURIComponent(text)}`;
}

function parseRoute(hash: string): Route {
  if (hash === "" || hash === "#") return { page: "timeline", list: "EVERYTHING" };
  const list = TIMELINE_LISTS.find((one) => LIST_PATHS[one] === hash);
  if (list !== undefined) return { page: "timeline", list };
  if (hash === bookmarksPath) return { page: "bookmarks" };
  if (hash === settingsPath) return { page: "settings" };
  if (hash === explorePath) return { page: "explore" };
  const exclusion = EXCLUSIONS.find((one) => EXCLUSION_PATHS[one] === hash);
  if (exclusion !== undefined) return { page: "exclusions", exclusion };
  const [, id, likes] = /^#\/p\/([A-Za-z0-9_-]+)(\/likes)?$/.exec(hash) ?? [];
  if (id !== undefined) return { page: likes === undefined ? "thread" : "likers", id };
  try {
    const text = /^#\/s\/([^/]+)\/?$/.exec(hash)?.[1];
    if (text !== undefined) return { page: "search", text: decodeURIComponent(text) };
    const [, encoded, part = ""] = /^#\/u\/([^/]+)(\/[a-z]*)?$/.exec(hash) ?? [];
    if (encoded === undefined) return { page: "unknown" };
    const handle = decodeURIComponent(encoded);
    const side = (["followers", "following"] as const).find((one) => part === `/${one}`);
    if (side !== undefined) return { page: side, handle };
    const list = PROFILE_LISTS.find((one) => PROFILE_PATHS[one] === (part === "/" ? "" : part));
    return list === undefined ? { page: "unknown" } : { page: "profile", handle, list };
  } catch {
    return { page: "unknown" };
  }
}

/** Whether a page of this app was shown before the present one. */
let hasNavigated = false;

function subscribe(listener: () => void) {
  window.addEventListener("popstate", listener);
  return () => { window.removeEventListener("popstate", listener); };
}

/**
 * The current route. A page that is entered anew starts at its top; on "back" and "forward" the browser restores the
 * place: entries that have been shown before carry a mark.
 */
export function useRoute(): Route {
  const hash = useSyncExternalStore(subscribe, () => window.location.hash);
  useEffect(() => {
    const visited = (history.state as { visited?: boolean } | null)?.visited;
    if (visited === true) return;
    history.replaceState({ visited: true, hasPrevious: hasNavigated }, "");
    hasNavigated = true;
    window.scrollTo(0, 0);
  }, [hash]);
  return parseRoute(hash);
}
