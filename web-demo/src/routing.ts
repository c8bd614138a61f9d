// Where each page is. A server with public pages has a path for each; any other knows one page only, and the path stands behind the # of its address.
import { useEffect, useSyncExternalStore } from "react";
import { TIMELINE_LISTS, type TimelineList } from "./api/timelineLists";
import { hasPaths, root } from "./root";

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
  | { page: "signIn" }
  | { page: "profile"; handle: string; list: ProfileList }
  | { page: FollowSide; handle: string }
  | { page: "thread"; id: string }
  | { page: "likers"; id: string }
  | { page: "exclusions"; exclusion: Exclusion }
  | { page: "search"; text: string }
  | { page: "unknown" };

const LIST_PATHS: Record<TimelineList, string> = { EVERYTHING: "/", POST: "/posts", REPLY: "/replies", REPOST: "/reposts" };
const EXCLUSION_PATHS: Record<Exclusion, string> = { mute: "/muted", hide: "/hidden", block: "/blocked" };
const PROFILE_PATHS: Record<ProfileList, string> = { EVERYTHING: "", POST: "/posts", REPLY: "/replies", REPOST: "/reposts", MEDIA: "/media", LIKES: "/likes" };
const PLAIN = { "/bookmarks": "bookmarks", "/settings": "settings", "/explore": "explore", "/sign-in": "signIn" } as const;

/** The address of a path, for links. */
const at = (path: string) => (hasPaths ? `${root.pathname}${path.slice(1)}` : `#${path}`);

export const timelinePath = at("/");
export const bookmarksPath = at("/bookmarks");
export const settingsPath = at("/settings");
export const explorePath = at("/explore");
export const signInPath = at("/sign-in");
export const timelineListPath = (list: TimelineList): string => at(LIST_PATHS[list]);
export const exclusionsPath = (exclusion: Exclusion): string => at(EXCLUSION_PATHS[exclusion]);
export const profilePath = (handle: string): string => at(`/@${encodeURIComponent(handle)}`);
export const profileListPath = (handle: string, list: ProfileList): string => `${profilePath(handle)}${PROFILE_PATHS[list]}`;
export const followsPath = (handle: string, side: FollowSide): string => `${profilePath(handle)}/${side}`;
export const threadPath = (id: string): string => at(`/post/${encodeURIComponent(id)}`);
export const likersPath = (id: string): string => `${threadPath(id)}/likes`;
export const searchPath = (text: string): string => at(`/search/${encodeURIComponent(text)}`);

/** The path of an address; of those that were given out before there were paths, the present one. */
function pathOf({ pathname, hash }: { pathname: string; hash: string }): string {
  if (!hasPaths || hash.startsWith("#/")) return (hash.slice(1) || "/").replace(/^\/u\//, "/@").replace(/^\/p\//, "/post/").replace(/^\/s\//, "/search/");
  return pathname.slice(root.pathname.length - 1);
}

function parse(path: string): Route {
  const list = TIMELINE_LISTS.find((one) => LIST_PATHS[one] === path);
  if (list !== undefined) return { page: "timeline", list };
  if (path in PLAIN) return { page: PLAIN[path as keyof typeof PLAIN] };
  const exclusion = EXCLUSIONS.find((one) => EXCLUSION_PATHS[one] === path);
  if (exclusion !== undefined) return { page: "exclusions", exclusion };
  const [, id, likes] = /^\/post\/([A-Za-z0-9_-]+)(\/likes)?\/?$/.exec(path) ?? [];
  if (id !== undefined) return { page: likes === undefined ? "thread" : "likers", id };
  try {
    const text = /^\/search\/([^/]+)\/?$/.exec(path)?.[1];
    if (text !== undefined) return { page: "search", text: decodeURIComponent(text) };
    const [, encoded, part = ""] = /^\/(?:@|%40)([^/]+)(\/[a-z]*)?$/.exec(path) ?? [];
    if (encoded === undefined) return { page: "unknown" };
    const handle = decodeURIComponent(encoded);
    const side = (["followers", "following"] as const).find((one) => part === `/${one}`);
    if (side !== undefined) return { page: side, handle };
    const shown = PROFILE_LISTS.find((one) => PROFILE_PATHS[one] === (part === "/" ? "" : part));
    return shown === undefined ? { page: "unknown" } : { page: "profile", handle, list: shown };
  } catch {
    return { page: "unknown" };
  }
}

/** Whether a page of this app was shown before the present one. */
let hasNavigated = false;
const listeners = new Set<() => void>();

/** Leads to an address of the app, as a link does. */
export function navigate(address: string) {
  if (new URL(address, window.location.href).href === window.location.href) return;
  history.pushState(null, "", address);
  for (const listener of listeners) listener();
}

/** To the page before, or to the timeline for who has come from elsewhere. */
export function goBack() {
  if ((history.state as { hasPrevious?: boolean } | null)?.hasPrevious === true) history.back();
  else navigate(timelinePath);
}

/** Links from before there were paths lead on. */
function leaveHash() {
  if (hasPaths && window.location.hash.startsWith("#/")) history.replaceState(history.state, "", at(pathOf(window.location)));
}

if (hasPaths) {
  leaveHash();
  window.addEventListener("popstate", leaveHash);
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (link === null || link.target !== "" || link.hasAttribute("download") || link.origin !== root.origin || link.hash !== "") return;
    if (!link.pathname.startsWith(root.pathname) || parse(pathOf(link)).page === "unknown") return;
    event.preventDefault();
    navigate(link.href);
  });
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  window.addEventListener("popstate", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("popstate", listener);
  };
}

/**
 * The current route. A page that is entered anew starts at its top; on "back" and "forward" the browser restores the
 * place: entries that have been shown before carry a mark.
 */
export function useRoute(): Route {
  const path = useSyncExternalStore(subscribe, () => pathOf(window.location));
  useEffect(() => {
    // What the server has said of the page that was opened is not said of others.
    if (hasNavigated) for (const said of document.querySelectorAll("head > [data-page]")) said.remove();
    const visited = (history.state as { visited?: boolean } | null)?.visited;
    if (visited !== true) {
      history.replaceState({ visited: true, hasPrevious: hasNavigated }, "");
      window.scrollTo(0, 0);
    }
    hasNavigated = true;
  }, [path]);
  return parse(path);
}
