// The viewer's timeline as a live list: pages, what comes and goes, and what is under way. At rest it is the server's timeline, as far down as it reaches.
import { documents } from "./documents.js";
import { type Fact, type Hub, withFact, withIntent } from "./hub.js";
import { agree, changed, type Held, inPlaceOf, isWithinWindow, type List, NOTHING, nothingWaits, shortened, standing, visible, waiting, withPage } from "./list.js";
import type { ViewerStore } from "./objects.js";
import { type Observable, source } from "./observable.js";
import { PASSING, RequestError, type Send } from "./request.js";
import type { Session } from "./session.js";
import type { LiveSocket } from "./socket.js";
import type { Content, FeedEvent, Original, Page, UserError } from "./types.js";
import { onWakeUp, pause, waitMs } from "./waiting.js";

/** The server gives no longer page. */
const LONGEST_PAGE = 100;
/** The longest wait before the list is compared again that differed each time. */
const LONGEST_SETTLE_MS = 30_000;

export interface Entry {
  /** That of the content; begins with "draft:" for one that is under way. */
  id: string;
  /** Null for one that is under way. */
  cursor: string | null;
  content: Content;
  isDraft: boolean;
}

export interface TimelineSnapshot {
  /** "idle": nobody is signed in, or nobody has watched yet. */
  status: "idle" | "loading" | "ready";
  /** Newest first; of each subject the newest. */
  entries: readonly Entry[];
  /** How many entries have come that `showNew` would show; 0 unless `holdNew` is set. */
  newCount: number;
  hasOlder: boolean;
  isLoadingOlder: boolean;
  /** The cursor up to which the viewer has read, on whatever device; null before they have. */
  readMarker: string | null;
  /** Whether nothing is under way that could still change what is shown by itself. */
  isSettled: boolean;
  /** Why the last read failed, or why the server tells nothing any more; null once one has succeeded. */
  error: Error | null;
}

export interface TimelineOptions {
  /** Entries of a page, 1 to 100. */
  first?: number;
  /** Whether what others publish waits for `showNew`, so that nothing moves under a reader's eyes. */
  holdNew?: boolean;
  /** More entries are not kept than these, or than `loadOlder` has read: what comes takes the place of the oldest. */
  keep?: number;
  /** How long to wait before what lies below the stream's reach is read again when it may have changed. */
  settleMs?: number;
  /** How often that is read again without a reason, while somebody looks; 0 for never. */
  checkMs?: number;
}

/** Reads and listens while somebody subscribes; after a pause it goes on from where it was. */
export interface Timeline extends Observable<TimelineSnapshot> {
  loadOlder: () => Promise<void>;
  /** Shows what waits. */
  showNew: () => void;
  /** Moves the read marker up to the newest entry that is shown, or to `cursor`. */
  markRead: (cursor?: string) => Promise<UserError[]>;
  /** Reads everything that is shown again. */
  refresh: () => void;
}

type Timer = ReturnType<typeof setTimeout> | undefined;

export interface TimelineParts { send: Send; socket: LiveSocket; session: Session; hub: Hub; viewer: ViewerStore }

const isPassing = (error: unknown) => error instanceof RequestError && (error.code === "UNREACHABLE" || PASSING.includes(error.code));
const asError = (error: unknown) => (error instanceof Error ? error : new Error(String(error)));
const finder = (contents: readonly Content[]) => (id: string): Original | undefined =>
  contents.find((content) => content.id === id) ?? contents.find(({ repostOf }) => repostOf?.id === id)?.repostOf ?? undefined;

export function createTimeline(parts: TimelineParts, options: TimelineOptions = {}): Timeline {
  const { first = 20, holdNew = false, keep = 500, settleMs = 500, checkMs = 300_000 } = options;
  const { send, socket, session, hub, viewer } = parts;
  let list: List = NOTHING;
  let [isRead, isLoadingOlder, hasDoubts] = [false, false, false];
  let [readMarker, token, error]: [string | null, string | null, Error | null] = [null, null, null];
  /** What was told while a read is under way: it may know of it or not. */
  let journal: Partial<FeedEvent>[] | null = null;
  /** Of a list that begins anew; what belongs to an older one is dropped. */
  let generation = 0;
  let turn: Promise<unknown> = Promise.resolve();
  let leave = () => {};
  let stop: (() => void) | null = null;
  let settle: Timer, nextCheck: Timer, marking: Timer;
  let differences = 0;
  /** How many entries the reader has asked for. */
  let reach = keep;

  /** Of what is shown as it is held: the same object as long as nothing about it changes. */
  const entries = new WeakMap<Held, Entry>();
  let isInUse = false;

  const state = source<TimelineSnapshot>(snapshot(), (isWatched) => {
    isInUse = isWatched;
    if (isWatched) start();
    else setTimeout(() => { if (!isInUse) end(); }); // One that is left and watched again at once, as React does, goes on.
  });

  function snapshot(): TimelineSnapshot {
    const intents = hub.intents();
    const shown = visible(list).map((held) => entryOf(held, intents.reduce(withIntent, held.node)));
    const find = finder(shown.map(({ content }) => content));
    const drafts = intents.flatMap(({ draft }) => draft?.(find) ?? []).reverse().map((content) => ({ id: content.id, cursor: null, content, isDraft: true }));
    const met = new Set<string>();
    const entries = [...drafts, ...shown]
      .filter(({ content }) => !intents.some(({ hides }) => hides?.(content)) && !met.has(content.subjectId) && met.add(content.subjectId));
    return {
      status: isRead ? "ready" : stop !== null && session.getSnapshot().signedIn ? "loading" : "idle",
      entries, newCount: waiting(list), hasOlder: isRead && list.hasNextPage, isLoadingOlder, readMarker,
      isSettled: isRead && journal === null && !hasDoubts && intents.length === 0, error,
    };
  }
  function entryOf(held: Held, content: Content): Entry {
    const old = entries.get(held);
    if (old?.content === content) return old;
    const entry = { id: content.id, cursor: held.cursor, content, isDraft: false };
    entries.set(held, entry);
    return entry;
  }
  const show = () => { state.set(snapshot()); };

  /** One read after the other. */
  function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const mine = turn.catch(() => {}).then(work);
    turn = mine;
    return mine;
  }

  async function readPage(size: number, after: string | null): Promise<Page> {
    const { timeline } = await send<{ timeline: Page | null }>(documents.timeline, { first: Math.min(size, LONGEST_PAGE), after });
    if (timeline === null) throw new Error("The timeline cannot be read.");
    return timeline;
  }

  /** Reads until there are `depth` entries, and further down to `floor`; gives them, with all that was told meanwhile, to `adopt` before anything else can happen. */
  async function read(base: List, { depth, floor }: { depth: number; floor: number }, adopt: (list: List, isInDoubt: boolean, resumeToken: string | null) => void) {
    const mine = generation;
    journal = [];
    try {
      let fresh = base;
      let resumeToken: string | null = null;
      const missing = () => depth - standing(fresh).length;
      const goesOn = () => fresh.hasNextPage && (missing() > 0 || (fresh.oldest > floor && depth - missing() < reach));
      let further = 1;
      while (fresh === base || goesOn()) {
        const page = await readPage(Math.max(missing(), further), fresh.endCursor);
        if (missing() <= 0) further *= 2;
        if (mine !== generation) return;
        if (fresh === NOTHING) ({ resumeToken } = page);
        fresh = withPage(fresh === base && base !== NOTHING ? list : fresh, page);
      }
      let isInDoubt = false;
      for (const event of journal) {
        const change = changed(fresh, event, base !== NOTHING && holdNew);
        fresh = change.list;
        isInDoubt ||= change.isInDoubt;
      }
      adopt(fresh, isInDoubt, resumeToken);
    } finally {
      if (mine === generation) journal = null;
    }
  }

  const failed = (reason: unknown) => {
    error = asError(reason);
    show();
  };

  /** Reads the first page, and listens from there on. */
  async function begin() {
    generation += 1;
    const mine = generation;
    leave();
    leave = () => {};
    clearTimeout(settle);
    settle = undefined;
    for (let tries = 0; mine === generation && stop !== null; tries += 1) {
      try {
        await inTurn(() => read(NOTHING, { depth: first, floor: Infinity }, (fresh, isInDoubt, resumeToken) => {
          list = inPlaceOf(list, fresh, holdNew);
          [isRead, error, token, hasDoubts] = [true, null, resumeToken, false];
          listen();
          if (isInDoubt || list.held.length > LONGEST_PAGE / 2) doubt();
        }));
        return show();
      } catch (reason) {
        if (mine !== generation) return;
        failed(reason);
        if (!isPassing(reason)) return;
        await pause(waitMs(tries));
      }
    }
  }

  function listen() {
    leave();
    try {
      leave = socket.feed(documents.newFeed, token, take, failed);
    } catch (reason) {
      failed(reason);
    }
  }

  function take(event: FeedEvent) {
    token = event.resumeToken ?? token;
    if (event.readMarker !== null) ({ readMarker } = event);
    if (event.refetch) {
      void begin();
      return;
    }
    if (event.timelineEdge?.node?.viewerIsAuthor) hub.arrived(event.timelineEdge.node);
    apply(event);
    show();
  }

  function apply(event: Partial<FeedEvent>) {
    journal?.push(event);
    if (!isRead) return;
    const isFar = !isWithinWindow(list);
    const change = changed(list, event, holdNew);
    list = shortened(change.list, reach);
    if (change.isInDoubt && isFar || list.hasNextPage && list.held.length === 0) doubt();
  }

  const asFarAs = (known: List) => ({ depth: standing(known).length || first, floor: known.hasNextPage ? known.oldest : Infinity });

  /** What lies below the stream's reach may differ: it is read again until a read says what the list says. */
  function doubt() {
    hasDoubts = true;
    if (settle !== undefined || stop === null) return;
    settle = setTimeout(() => {
      settle = undefined;
      void compare();
    }, Math.min(settleMs * 2 ** differences, LONGEST_SETTLE_MS));
  }

  async function compare() {
    const mine = generation;
    if (stop === null || !isRead || socket.state.getSnapshot() !== "live") return; // It is in doubt again as soon as it is live.
    try {
      await inTurn(() => (mine !== generation ? Promise.resolve() : read(NOTHING, asFarAs(list), (fresh, isInDoubt) => {
        const isTrue = agree(list, fresh) && !isInDoubt;
        list = inPlaceOf(list, fresh, holdNew);
        differences = isTrue ? 0 : differences + 1;
        hasDoubts = settle !== undefined;
        if (!isTrue) doubt();
      })));
      error = null;
      checkLater();
    } catch (reason) {
      if (mine !== generation) return;
      error = asError(reason);
      if (isPassing(reason)) doubt();
    }
    show();
  }

  function checkLater() {
    clearTimeout(nextCheck);
    if (checkMs === 0 || stop === null) return;
    nextCheck = setTimeout(() => {
      if (globalThis.document?.visibilityState !== "hidden" && isRead && !isWithinWindow(list)) doubt();
      else checkLater();
    }, checkMs);
  }

  function hear(fact: Fact) {
    if (fact.content != null || fact.user != null) list = { ...list, held: list.held.map((one) => ({ ...one, node: withFact(one.node, fact) })) };
    if (fact.event !== undefined) apply(fact.event);
    if (fact.isInDoubt && isRead && !isWithinWindow(list)) doubt();
    show();
  }

  /** What a device has marked while this one did not listen. Best effort: the stream tells the next move. */
  function askForMarker() {
    const before = readMarker;
    viewer.refresh().then((read) => {
      if (readMarker === before) readMarker = read?.timelineReadMarker ?? null;
      show();
    }).catch(() => {});
  }

  function enter() {
    show();
    if (!session.getSnapshot().signedIn) return;
    if (isRead) listen();
    else void begin();
    askForMarker();
  }

  /** Another person's timeline is another timeline. */
  function forget() {
    generation += 1;
    leave();
    leave = () => {};
    [list, isRead, token, readMarker, error, hasDoubts, journal] = [NOTHING, false, null, null, null, false, null];
  }

  function start() {
    if (stop !== null) return;
    let [wasLive, wasSignedIn] = [false, session.getSnapshot().signedIn];
    const ends = [
      hub.onFact(hear),
      hub.onIntents(show),
      socket.state.subscribe(() => {
        const isLive = socket.state.getSnapshot() === "live";
        if (isLive && isRead && (hasDoubts || (wasLive && !isWithinWindow(list)))) doubt();
        wasLive ||= isLive;
        clearTimeout(marking);
        if (isLive) marking = setTimeout(askForMarker, settleMs);
      }),
      session.subscribe(() => {
        const { signedIn } = session.getSnapshot();
        if (signedIn === wasSignedIn) return;
        wasSignedIn = signedIn;
        forget();
        enter();
      }),
      onWakeUp(() => { if (error !== null && !isRead) void begin(); }),
    ];
    stop = () => { for (const one of ends) one(); };
    if (isRead && !isWithinWindow(list)) doubt();
    checkLater();
    enter();
  }

  function end() {
    stop?.();
    stop = null;
    leave();
    leave = () => {};
    for (const timer of [settle, nextCheck, marking]) clearTimeout(timer);
    settle = undefined;
  }

  return {
    getSnapshot: state.getSnapshot,
    subscribe: state.subscribe,
    async loadOlder() {
      if (isLoadingOlder || !isRead || !list.hasNextPage) return;
      isLoadingOlder = true;
      show();
      try {
        await inTurn(async () => {
          if (!list.hasNextPage) return;
          await read(list, { depth: standing(list).length + first, floor: Infinity }, (fresh, isInDoubt) => {
            list = fresh;
            reach = Math.max(keep, list.held.length);
            if (isInDoubt) doubt();
          });
        });
        error = null;
      } catch (reason) {
        error = asError(reason);
      } finally {
        isLoadingOlder = false;
        show();
      }
    },
    showNew() {
      list = nothingWaits(list);
      show();
    },
    async markRead(cursor) {
      const upTo = cursor ?? state.getSnapshot().entries.find((entry) => entry.cursor !== null)?.cursor;
      if (upTo == null) return [];
      const { markTimelineRead } = await send<{ markTimelineRead: { readMarker: string | null; userErrors: UserError[] } }>(
        documents.markTimelineRead, { input: { upTo } }, { safe: true },
      );
      readMarker = markTimelineRead.readMarker ?? readMarker;
      show();
      return markTimelineRead.userErrors;
    },
    refresh: () => { void begin(); },
  };
}
