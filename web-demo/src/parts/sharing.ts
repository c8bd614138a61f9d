// Links to what the page shows, for other people.
import type { MenuItem } from "./Menu";
import { notify } from "./notices";

/** `path`: a route's. Where the browser has no clipboard, as on plain http, the link is shown to be copied by hand. */
async function copy(path: string) {
  const link = new URL(path, window.location.href).href;
  const clipboard = (navigator as Partial<Navigator>).clipboard;
  try {
    await clipboard?.writeText(link);
    notify({ text: clipboard === undefined ? link : "The link is copied." });
  } catch {
    notify({ text: link });
  }
}

export function sharingItems(path: string, title: string): MenuItem[] {
  const items: MenuItem[] = [{ name: "Copy link", icon: "link", testId: "copy-link", act: () => { void copy(path); } }];
  if (!("share" in navigator)) return items;
  const share = () => { navigator.share({ title, url: new URL(path, window.location.href).href }).catch(() => { /* They have thought better of it. */ }); };
  return [...items, { name: "Share…", icon: "share", testId: "share", act: share }];
}
