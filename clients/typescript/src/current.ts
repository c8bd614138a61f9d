// What stands on the screen is kept current: one subscription hints at what may have changed, and one request reads that anew.
import { ORIGINAL, RELATION } from "./documents.js";
import type { Actions, Ask, Observable, Tidefeed } from "./index.js";
import type { Original, Viewer } from "./types.js";
import { pause } from "./waiting.js";

const SHOWN_CHANGED = "subscription ShownChanged($ids: [ID!]!) { shownChanged(ids: $ids) { ids } }";
const NODES = `query Nodes($ids: [ID!]!) { nodes(ids: $ids) { ... on Content { ${ORIGINAL} } ... on User { ${RELATION} bio contentCount } } }`;

/** The server watches no more for one client; and so many of one list. */
const [MOST, MOST_OF_LIST] = [100, 60];
/** How long what is shown has to stand before it is watched, and how far the requests of many clients lie apart. */
const [SETTLED_MS, SPREAD_MS] = [300, 1_000];
/** The server hints at what it has not heard of before, too: so soon after something was first watched, what is read tells whether it has changed. */
const DOUBTFUL_MS = 5_000;

const ACTIONS = [
  "like", "unlike", "bookmark", "unbookmark", "repost", "unrepost", "publish", "remove",
  "follow", "unfollow", "mute", "unmute", "hide", "unhide", "block", "unblock",
] as const;

type Shown = Record<string, unknown> & { id: string };

/** What `value` shows of contents, and of users with their counts. */
function* shownIn(value: unknown): Generator<Shown> {
  if (typeof value !== "object" || value === null) return;
  const object = value as Record<string, unknown>;
  const isShown = "subjectId" in object ? object.kind !== "REPOST" : "followerCount" in object;
  if (isShown && typeof object.id === "string" && /^[CU]_/.test(object.id)) yield object as Shown;
  for (const one of Object.values(object)) yield* shownIn(one);
}

/** `client`, whose queries and timelines stay current while somebody watches them, signed in or not: the contents in them, and the users with their counts. */
export function keepCurrent(client: Tidefeed): Tidefeed {
  const { connection } = client;
  const lists = new Set<() => unknown>();
  const known = new WeakMap<object, unknown>();
  let [watched, leave]: [string[], () => void] = [[], () => {}];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let wasLive = false;
  /** How much of what the viewer does is under way, and how much has ended. */
  let [pending, ended] = [0, 0];
  let reading: Promise<void> = Promise.resolve();
  /** When what is watched was watched first. */
  const since = new Map<string, number>();

  const everyShown = () => [...lists].reverse().map((list) => [...shownIn(list())]);

  function isAsShown(node: object, id: string) {
    const isSame = (shown: Shown) => Object.entries(node).every(([name, value]) => typeof value === "object" || !(name in shown) || shown[name] === value);
    return everyShown().flat().filter((shown) => shown.id === id).every(isSame);
  }

  /** What is not there any more has been deleted, or is hidden from the viewer. */
  async function readAgain(ids: readonly string[]) {
    await pause(Math.random() * SPREAD_MS);
    const still = ids.filter((id) => watched.includes(id));
    if (still.length === 0) return;
    const before = ended;
    const { nodes } = await client.request<{ nodes: (Original | Viewer | null)[] }>(NODES, { ids: still });
    // What was read may be older than what the viewer has done meanwhile.
    if (pending > 0 || before !== ended) {
      await readAgain(still);
      return;
    }
    const changed = new Set(still);
    still.forEach((id, at) => {
      const node = nodes[at];
      if (node != null && Date.now() - (since.get(id) ?? 0) < DOUBTFUL_MS && isAsShown(node, id)) changed.delete(id);
      if (node == null) client.tell({ event: { __typename: "ContentRemoved", contentId: id } });
      else client.tell("handle" in node ? { user: node } : { content: node });
    });
    if (changed.size > 0) client.tell({ changed });
  }

  /** One request after the other, so that none tells what another has overtaken. What fails is read with the next hint, or the next visit. */
  const tell = (ids: readonly string[]) => { reading = reading.then(() => readAgain(ids)).catch(() => {}); };

  function settle() {
    const all = everyShown().flatMap((list) => [...new Set(list.map(({ id }) => id))].slice(0, MOST_OF_LIST));
    const ids = [...new Set(all)].slice(0, MOST);
    if (ids.length === watched.length && ids.every((id) => watched.includes(id))) return;
    watched = ids;
    since.forEach((_, id) => { if (!ids.includes(id)) since.delete(id); });
    ids.filter((id) => !since.has(id)).forEach((id) => since.set(id, Date.now()));
    const before = leave;
    leave = () => {};
    try {
      const failed = () => { /* It stays as it was read. */ };
      if (ids.length > 0) leave = client.listen<{ shownChanged: { ids: string[] } }>({ query: SHOWN_CHANGED, variables: { ids } }, ({ shownChanged }) => { tell(shownChanged.ids); }, failed);
    } catch { /* Without a WebSocket nothing is live. */ }
    before();
  }

  function changed() {
    clearTimeout(timer);
    timer = setTimeout(settle, SETTLED_MS);
  }

  /** `one`, which counts as shown while somebody watches it. */
  function kept<One extends Observable<unknown>>(one: One): One {
    const before = known.get(one) as One | undefined;
    if (before !== undefined) return before;
    let watchers = 0;
    const list = () => one.getSnapshot();
    function subscribe(listener: () => void) {
      const end = one.subscribe(() => {
        changed();
        listener();
      });
      let hasLeft = false;
      watchers += 1;
      lists.add(list);
      changed();
      return () => {
        end();
        if (!hasLeft) watchers -= 1;
        hasLeft = true;
        if (watchers === 0) lists.delete(list);
        changed();
      };
    }
    const next = { ...one, subscribe };
    known.set(one, next);
    return next;
  }

  const noted = (name: keyof Actions) => [name, async (...given: never[]) => {
    pending += 1;
    try {
      return await (client[name] as (...given: never[]) => Promise<unknown>)(...given);
    } finally {
      pending -= 1;
      ended += 1;
    }
  }] as const;

  connection.subscribe(() => {
    const isLive = connection.getSnapshot() === "live";
    // Of what has changed meanwhile nobody tells.
    if (isLive && !wasLive && watched.length > 0) tell(watched);
    wasLive = isLive;
  });
  return { ...client, ...Object.fromEntries(ACTIONS.map(noted)) as unknown as Actions, query: ((document: string, ...rest: []) => kept(client.query(document, ...rest))) as Ask, timeline: (options) => kept(client.timeline(options)) };
}
