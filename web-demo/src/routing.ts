// Routes live in the hash, so that the server has to know one page only.
import { useEffect, useSyncExternalStore } from "react";

export type Route = { page: "timeline" } | { page: "profile"; handle: string } | { page: "thread"; id: string } | { page: "search"; text: string } | { page: "unknown" };

export const timelinePath = "#/";

export function profilePath(handle: string): string {
  return `#/u/${encodeURIComponent(handle)}`;
}

export function threadPath(id: string): string {
  return `#/p/${encodeURIComponent(id)}`;
}

export function searchPath(text: string): string {
  return `#/s/${encodeURIComponent(text)}`;
}

function parseRoute(hash: string): Route {
  if (hash === "" || hash === "#" || hash === "#/") return { page: "timeline" };
  const id = /^#\/p\/([A-Za-z0-9_-]+)$/.exec(hash)?.[1];
  if (id !== undefined) return { page: "thread", id };
  const [, page, name] = /^#\/([us])\/([^/]+)\/?$/.exec(hash) ?? [];
  if (name === undefined) return { page: "unknown" };
  try {
    return page === "u" ? { page: "profile", handle: decodeURIComponent(name) } : { page: "search", text: decodeURIComponent(name) };
  } catch {
    return { page: "unknown" };
  }
}

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
    history.replaceState({ visited: true }, "");
    window.scrollTo(0, 0);
  }, [hash]);
  return parseRoute(hash);
}
