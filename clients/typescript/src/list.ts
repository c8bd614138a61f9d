// What is held of a timeline, and what becomes of it: pages, events, folding. Pure: no clock, no request, nothing is changed in place.
import type { Content, Edge, Page, TimelineChange } from "./types.js";

/** A resume token speaks of so many entries, folded ones among them. */
const WINDOW = 64;

export interface Held {
  readonly cursor: string;
  readonly node: Content;
  /** It has come, but the reader has not asked to see it. */
  readonly waits: boolean;
  /** It has left for a newer entry of its subject that waits: shown until that is. */
  readonly stays: boolean;
}

export interface List {
  /** Newest first. */
  readonly held: readonly Held[];
  readonly hasNextPage: boolean;
  readonly endCursor: string | null;
  /** What is older comes with the next page; -Infinity if there is none. */
  readonly oldest: number;
}

export const NOTHING: List = { held: [], hasNextPage: false, endCursor: null, oldest: -Infinity };

const timeOf = ({ createdAt }: Content) => Date.parse(createdAt);
const present = (edges: readonly Edge[]) => edges.flatMap(({ cursor, node }) => (node === null ? [] : [{ cursor, node, waits: false, stays: false }]));

/** Of each subject the newest. */
function folded(held: readonly Held[]): readonly Held[] {
  const met = new Set<string>();
  return held.filter(({ node }) => !met.has(node.subjectId) && met.add(node.subjectId));
}

/** What the server's timeline shows, down to where the list ends. */
export const standing = (list: List) => folded(list.held.filter(({ stays }) => !stays));
/** What the reader sees. */
export const visible = (list: List) => folded(list.held.filter(({ waits }) => !waits));
/** Whether nothing is seen of anybody but `author`: before theirs came, it was empty. */
export const isOnlyBy = (list: List, author: string) => visible(list).every(({ node }) => node.author?.id === author);
export const waiting = (list: List) => standing(list).filter(({ waits }) => waits).length;
export const nothingWaits = (list: List): List => ({ ...list, held: list.held.flatMap((one) => (one.stays ? [] : [{ ...one, waits: false }])) });

/** The publish time down to which it reaches. */
export function endOf({ held, hasNextPage, oldest }: List): number {
  const last = held.at(-1);
  if (hasNextPage) return oldest;
  return last === undefined ? Infinity : timeOf(last.node);
}

/** Whether all of it lies within what a resume token speaks of. Behind a repost any number of entries may be folded away. */
export const isWithinWindow = ({ held }: List) => held.length <= WINDOW && held.every(({ node }) => node.kind !== "REPOST");

/** `list` and the page that follows it. */
export function withPage({ held }: List, { edges, pageInfo, oldestCreatedAt }: Page): List {
  const known = new Set(held.map(({ node }) => node.id));
  return {
    held: [...held, ...present(edges).filter(({ node }) => !known.has(node.id))],
    ...pageInfo,
    oldest: pageInfo.hasNextPage && oldestCreatedAt !== null ? Date.parse(oldestCreatedAt) : -Infinity,
  };
}

/** The newest `most` of what is held: what is cut off comes with the next page again. */
export function shortened(list: List, most: number): List {
  const last = list.held[most - 1];
  if (last === undefined || list.held.length === most) return list;
  return { held: list.held.slice(0, most), hasNextPage: true, endCursor: last.cursor, oldest: timeOf(last.node) };
}

/** `fresh`, as it was read, in the place of `list`: what waits goes on waiting, and so does what has come above all that is seen, if `holds`. */
export function inPlaceOf(list: List, fresh: List, holds: boolean): List {
  const old = new Map(list.held.map((one) => [one.node.id, one]));
  const top = visible(list)[0];
  const newer = (node: Content) => holds && !node.viewerIsAuthor && top !== undefined && timeOf(node) > timeOf(top.node);
  const marked = fresh.held.map((one) => ({ ...one, waits: old.get(one.node.id)?.waits ?? newer(one.node) }));
  const held = marked.every(({ waits }) => waits) ? fresh.held : marked; // Nothing that was seen is left: begin afresh.
  const subjects = new Set(held.filter(({ waits }) => waits).map(({ node }) => node.subjectId));
  const ids = new Set(held.map(({ node }) => node.id));
  const seen = new Set(visible(list));
  const staying = list.held.filter((one) => seen.has(one) && !ids.has(one.node.id) && subjects.has(one.node.subjectId));
  return staying.reduce((all, one) => ({ ...all, held: placed(all, { ...one, stays: true }).held }), { ...fresh, held });
}

function placed(list: List, one: Held): { held: readonly Held[]; isTied: boolean } {
  const time = timeOf(one.node);
  const place = list.held.findIndex(({ node }) => timeOf(node) <= time);
  const next = list.held[place];
  if (next !== undefined) return { held: list.held.toSpliced(place, 0, one), isTied: timeOf(next.node) === time };
  return { held: time >= list.oldest ? [...list.held, one] : list.held, isTied: time === list.oldest };
}

export interface Change {
  list: List;
  /** What was read further down may have become different without a word. */
  isInDoubt: boolean;
  /** Entries of one millisecond have an order that only the server knows: theirs may differ, wherever they are. */
  isTied?: boolean;
}

function withEdge(list: List, { cursor, node }: Edge, holds: boolean): Change {
  if (node === null) return { list, isInDoubt: false };
  const known = list.held.find((one) => one.node.id === node.id);
  if (known !== undefined) {
    const again = { ...known, node, stays: false };
    return { list: { ...list, held: list.held.map((one) => (one === known ? again : one)) }, isInDoubt: false };
  }
  const top = visible(list)[0];
  const waits = holds && !node.viewerIsAuthor && top !== undefined && timeOf(node) > timeOf(top.node);
  const { held, isTied } = placed(list, { cursor, node, waits, stays: false });
  // What comes further down has come back: perhaps not alone.
  return { list: { ...list, held }, isInDoubt: held !== list.held && held[0]?.node.id !== node.id, isTied };
}

function withoutContent(list: List, id: string): Change {
  const gone = list.held.find(({ node }) => node.id === id);
  if (gone === undefined) return { list, isInDoubt: false };
  const newer = list.held.slice(0, list.held.indexOf(gone)).find((one) => one.node.subjectId === gone.node.subjectId && !one.stays);
  if (newer?.waits && !gone.waits) {
    return { list: { ...list, held: list.held.map((one) => (one === gone ? { ...one, stays: true } : one)) }, isInDoubt: false };
  }
  const others = list.held.filter((one) => one !== gone);
  // What it stood for, or what stayed for it, is told if it lies near enough.
  const held = newer === undefined ? others.filter(({ node, stays }) => !(stays && node.subjectId === gone.node.subjectId)) : others;
  return { list: { ...list, held }, isInDoubt: newer === undefined && gone.node.kind === "REPOST" };
}

function withoutAuthor(list: List, id: string): Change {
  const held = list.held.filter(({ node }) => node.author?.id !== id);
  return { list: { ...list, held }, isInDoubt: true };
}

function changeOf(list: List, event: TimelineChange, holds: boolean): Change {
  switch (event.__typename) {
    case "EntryAdded": return withEdge(list, event.timelineEdge, holds);
    case "ContentRemoved": return withoutContent(list, event.contentId);
    case "AuthorRemoved": return withoutAuthor(list, event.authorId);
    case "RelationChanged": return { list, isInDoubt: true };
    default: return { list, isInDoubt: false };
  }
}

/** `list` after an event of `newFeed`, or with a mutation's answer. If nothing of the list is shown any more, nothing is held back. */
export function changed(list: List, event: TimelineChange, holds: boolean): Change {
  const change = changeOf(list, event, holds);
  return visible(change.list).length === 0 ? { ...change, list: nothingWaits(change.list) } : change;
}

/** Whether both show the same, as far down as both reach. */
export function agree(one: List, other: List): boolean {
  const [a, b] = [standing(one), standing(other)];
  const both = Math.min(a.length, b.length);
  return a.slice(0, both).every(({ node }, index) => node.id === b[index]?.node.id) && (a.length === b.length || one.hasNextPage || other.hasNextPage);
}
