// What comes to a list while it is read waits until the reader wants it, so that nothing moves under their eyes. Their own comes at once, and so does what they scroll for.
import type { Content } from "@tidefeed/client";
import { useState } from "react";
import type { NextPage } from "../api/useRead";

export interface Held {
  shown: readonly Content[];
  waiting: number;
  show: () => void;
}

interface Seen {
  list: string;
  pages: number;
  /** What waits; everything else is shown. */
  held: ReadonlySet<string>;
  ids: ReadonlySet<string>;
}

/** `list`: which one it is; another one begins anew. */
export function useHeld(posts: readonly Content[] | null, { after: pages }: NextPage, list = ""): Held {
  const [seen, setSeen] = useState<Seen | null>(null);
  const all = posts ?? [];
  const known = seen !== null && seen.list === list && seen.ids.size > 0 ? seen : null;
  const isNew = ({ id, viewerIsAuthor }: Content) => known !== null && known.pages === pages && !viewerIsAuthor && !known.ids.has(id);
  const held = new Set(all.filter((post) => known?.held.has(post.id) === true || isNew(post)).map(({ id }) => id));
  const ids = new Set(all.map(({ id }) => id));
  const isAsBefore = seen !== null && seen.list === list && seen.pages === pages && seen.ids.size === ids.size && all.every(({ id }) => seen.ids.has(id));
  if (posts !== null && !isAsBefore) setSeen({ list, pages, held, ids });
  return { shown: all.filter(({ id }) => !held.has(id)), waiting: held.size, show: () => { setSeen({ list, pages, held: new Set(), ids }); } };
}
