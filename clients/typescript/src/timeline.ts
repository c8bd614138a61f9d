// The viewer's timeline as a live list: pages, what comes and goes, and what is under way. At rest it is the server's timeline, as far down as it reaches.
import { Comparisons } from "./comparisons.js";
import { documents } from "./documents.js";
import { type Fact, type Hub, withFact } from "./hub.js";
import { type EventFilter, onlyKinds } from "./kinds.js";
import { agree, changed, endOf, inPlaceOf, isOnlyBy, isWithinWindow, type List, NOTHING, nothingWaits, shortened, standing, waiting, withPage } from "./list.js";
import type { ViewerStore } from "./objects.js";
import { type Observable, source } from "./observable.js";
import { asError } from "./failure.js";
import { isPassing, type Send } from "./request.js";
import type { Session, SessionState } from "./session.js";
import { entriesOf, type Entry, type TimelineSnapshot } from "./snapshot.js";
import type { LiveSocket } from "./socket.js";
import type { ContentKind, FeedEvent, Page, TimelineChange, UserError } from "./types.js";
import { onWakeUp, pause, waitMs } from "./waiting.js";

/** The server gives no longer page. */
const LONGEST_PAGE = 100;
/** The longest wait before a first page is asked for again. */
const RETRY_MS = 4_000;

export interface TimelineOptions {
  /** Entries of a page, 1 to 100. */
  first?: number;
  /** These kinds of content alone; all of them by default. */
  kinds?: readonly ContentKind[];
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
  /** Those that it is of; null for all. */
  kinds: readonly ContentKind[] | null;
  loadOlder: () => Promise<void>;
  /** Shows what waits. */
  showNew: () => void;
  /** Moves the read marker up to the newest entry that is shown, or to `cursor`. */
  markRead: (cursor?: string) => Promise<UserError[]>;
  /** Reads everything that is shown again. */
  refresh: () => void;
}

export interface TimelineParts { send: Send; socket: LiveSocket; session: Session; hub: Hub; viewer: ViewerStore }

/** How far down to read: until there are `depth` entries, and further to `floor`, a publish time. */
interface Reach { depth: number; floor: number }
type Adopt = (list: List, isInDoubt: boolean, resumeToken: string | null) => void;

class LiveTimeline {
  readonly #parts: TimelineParts;
  readonly #options: Required<Omit<TimelineOptions, "kinds" | "checkMs">>;
  readonly #kinds: readonly ContentKind[] | undefined;
  readonly #filtered: EventFilter;
  readonly state;
  readonly #entries: (list: List) => Entry[];
  readonly #comparisons: Comparisons;
  #list: List = NOTHING;
  #isRead = false;
  #isLoadingOlder = false;
  #hasDoubts = false;
  #isInUse = false;
  /** A stream is asked for that has not told yet what was missed: what is read meanwhile may lack what nobody tells. */
  #isAwaited = false;
  /** The server sends the entries of a list that showed none, the oldest first: none is held back until all have come. */
  #isFilling = false;
  #readMarker: string | null = null;
  #token: string | null = null;
  #error: Error | null = null;
  /** What was told while a read is under way: it may know of it or not. */
  #journal: TimelineChange[] | null = null;
  /** Of a list that begins anew; what belongs to an older one is dropped. */
  #generation = 0;
  #turn: Promise<unknown> = Promise.resolve();
  #leave = () => {};
  /** Set while somebody watches. */
  #stop: (() => void) | null = null;
  #marking: ReturnType<typeof setTimeout> | undefined;
  /** Whose list it was when it was last watched. */
  #during: SessionState | null = null;
  /** How many entries the reader has asked for. */
  #reach: number;

  constructor(parts: TimelineParts, { kinds, first = 20, holdNew = false, keep = 500, settleMs = 500, checkMs = 300_000 }: TimelineOptions) {
    this.#parts = parts;
    this.#options = { first, holdNew, keep, settleMs };
    this.#entries = entriesOf(parts.hub, kinds);
    this.#comparisons = new Comparisons({ settleMs, checkMs }, () => { void this.#compare(); }, () => { this.#check(); });
    this.#reach = keep;
    this.#kinds = kinds;
    this.#filtered = kinds === undefined ? (_list, event) => event : onlyKinds(kinds);
    this.state = source<TimelineSnapshot>(this.#snapshot(), (isWatched) => {
      this.#isInUse = isWatched;
      if (isWatched) this.#start();
      else setTimeout(() => { if (!this.#isInUse) this.#end(); }); // One that is left and watched again at once, as React does, goes on.
    });
  }

  loadOlder = async () => {
    if (this.#isLoadingOlder || !this.#isRead || !this.#list.hasNextPage) return;
    this.#isLoadingOlder = true;
    this.#show();
    try {
      await this.#inTurn(async () => {
        if (!this.#list.hasNextPage) return;
        const reach = { depth: standing(this.#list).length + this.#options.first, floor: Infinity };
        await this.#read(this.#list, reach, (fresh, isInDoubt) => {
          this.#list = fresh;
          this.#reach = Math.max(this.#options.keep, fresh.held.length);
          if (isInDoubt) this.#doubt();
        });
      });
      this.#error = null;
    } catch (reason) {
      this.#error = asError(reason);
    } finally {
      this.#isLoadingOlder = false;
      this.#show();
    }
  };

  showNew = () => {
    this.#list = nothingWaits(this.#list);
    this.#show();
  };

  markRead = async (cursor?: string) => {
    const upTo = cursor ?? this.state.getSnapshot().entries.find((entry) => entry.cursor !== null)?.cursor;
    if (upTo == null) return [];
    const { markTimelineRead } = await this.#parts.send<{ markTimelineRead: { readMarker: string | null; userErrors: UserError[] } }>(
      documents.markTimelineRead, { input: { upTo } }, { safe: true },
    );
    this.#readMarker = markTimelineRead.readMarker ?? this.#readMarker;
    this.#show();
    return markTimelineRead.userErrors;
  };

  refresh = () => { void this.#begin(); };

  #snapshot(): TimelineSnapshot {
    const { hub, session } = this.#parts;
    const isBusy = this.#journal !== null || this.#hasDoubts || hub.intents().length > 0;
    return {
      status: this.#isRead ? "ready" : this.#stop !== null && session.getSnapshot().signedIn ? "loading" : "idle",
      entries: this.#entries(this.#list), newCount: waiting(this.#list), hasOlder: this.#isRead && this.#list.hasNextPage, isLoadingOlder: this.#isLoadingOlder,
      readMarker: this.#readMarker, isSettled: this.#isRead && !isBusy, error: this.#error,
    };
  }

  #show() { this.state.set(this.#snapshot()); }

  #fail = (reason: unknown) => {
    this.#error = asError(reason);
    this.#show();
  };

  /** One read after the other. */
  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const mine = this.#turn.catch(() => {}).then(work);
    this.#turn = mine;
    return mine;
  }

  async #readPage(size: number, after: string | null, kinds: readonly ContentKind[] | undefined): Promise<Page> {
    const { timeline } = await this.#parts.send<{ timeline: Page | null }>(documents.timeline, {
      first: Math.min(size, LONGEST_PAGE), after, ...(kinds === undefined ? {} : { filter: { kinds } }),
    });
    if (timeline === null) throw new Error("The timeline cannot be read.");
    return timeline;
  }

  /** Reads on from `base`, and gives what is read, with all that was told meanwhile, to `adopt` before anything else can happen. */
  async #read(base: List, { depth, floor }: Reach, adopt: Adopt) {
    const mine = this.#generation;
    this.#journal = [];
    try {
      let fresh = base;
      let resumeToken: string | null = null;
      const missing = () => depth - standing(fresh).length;
      const goesOn = () => fresh.hasNextPage && (missing() > 0 || (fresh.oldest > floor && depth - missing() < this.#reach));
      let further = 1;
      while (fresh === base || goesOn()) {
        const page = await this.#readPage(Math.max(missing(), further), fresh.endCursor, this.#kinds);
        if (missing() <= 0) further *= 2;
        if (mine !== this.#generation) return;
        if (fresh === NOTHING) ({ resumeToken } = page);
        fresh = withPage(fresh === base && base !== NOTHING ? this.#list : fresh, page);
      }
      let isInDoubt = false;
      for (const event of this.#journal) {
        const change = changed(fresh, event, base !== NOTHING && this.#holds());
        fresh = change.list;
        isInDoubt ||= change.isInDoubt || change.isTied === true;
      }
      adopt(fresh, isInDoubt, resumeToken);
    } finally {
      if (mine === this.#generation) this.#journal = null;
    }
  }

  /** Reads the first page, and listens from there on. */
  async #begin() {
    this.#generation += 1;
    const mine = this.#generation;
    this.#leave();
    this.#comparisons.forget();
    for (let tries = 0; mine === this.#generation && this.#stop !== null; tries += 1) {
      try {
        await this.#inTurn(() => this.#readFirst(mine));
        return this.#show();
      } catch (reason) {
        if (mine !== this.#generation) return;
        this.#fail(reason);
        if (!isPassing(reason)) return;
        await pause(waitMs(tries, RETRY_MS));
      }
    }
  }

  async #readFirst(mine: number) {
    // A page of some kinds has no token: the stream goes on from a page of everything, read before it.
    const everything = this.#kinds === undefined ? null : await this.#readPage(this.#options.first, null, undefined);
    if (mine !== this.#generation) return;
    const reach = { depth: this.#options.first, floor: this.#place() };
    await this.#read(NOTHING, reach, (fresh, isInDoubt, resumeToken) => this.#adoptFirst(fresh, isInDoubt, everything?.resumeToken ?? resumeToken));
  }

  #adoptFirst: Adopt = (fresh, isInDoubt, resumeToken) => {
    this.#list = inPlaceOf(this.#list, fresh, this.#holds());
    [this.#isRead, this.#error, this.#token, this.#hasDoubts, this.#isFilling] = [true, null, resumeToken, false, false];
    this.#listen();
    if (isInDoubt) this.#doubt();
  };

  #listen() {
    this.#leave();
    if (this.#stop === null) return; // Nobody watches any more: who does next listens.
    this.#await();
    try {
      const variables = { after: this.#token };
      this.#leave = this.#parts.socket.listen<{ newFeed: FeedEvent }>({ query: documents.newFeed, variables }, ({ newFeed }) => {
        this.#take(newFeed);
        variables.after = this.#token;
      }, this.#fail);
    } catch (reason) {
      this.#fail(reason);
    }
  }

  /** What lies below the stream's reach is compared as soon as that has told what was missed. */
  #await() {
    this.#isAwaited = true;
    this.#fill();
    this.#hasDoubts ||= this.#isRead && !this.#isTold();
  }

  #fill() { this.#isFilling ||= this.#isRead && this.#list.held.length === 0; }

  #holds() { return this.#options.holdNew && !this.#isFilling; }

  #take = (event: FeedEvent) => {
    if (event.__typename === "RefetchNeeded") {
      void this.#begin();
      return;
    }
    this.#token = event.resumeToken ?? this.#token;
    if (event.__typename === "TimelineMayDiffer") {
      [this.#isAwaited, this.#isFilling] = [false, false];
      if (this.#hasDoubts || !this.#isTold()) this.#doubt();
      return;
    }
    if (event.__typename === "ReadMarkerMoved") this.#readMarker = event.readMarker;
    if (event.__typename === "EntryAdded" && event.timelineEdge.node?.viewerIsAuthor) this.#parts.hub.arrived(event.timelineEdge.node);
    this.#apply(event);
    this.#show();
  };

  #apply(told: TimelineChange) {
    const event = this.#filtered(this.#list, told);
    if (event !== null) this.#journal?.push(event);
    if (!this.#isRead) return;
    if (told.__typename === "RelationChanged") this.#fill(); // Their entries follow, and then `TimelineMayDiffer`.
    // Of some kinds alone nobody tells what an entry of another kind has kept away.
    if (this.#kinds !== undefined && told.__typename === "ContentRemoved") this.#doubt();
    const isFar = !this.#isTold();
    const change = event === null ? { list: this.#list, isInDoubt: false } : changed(this.#list, event, this.#holds());
    // While what follows its end is read, that is where it ends.
    this.#list = this.#isLoadingOlder ? change.list : shortened(change.list, this.#reach);
    if (change.isTied || (change.isInDoubt && isFar) || (this.#list.hasNextPage && this.#list.held.length === 0)) this.#doubt();
  }

  /** Whether the stream tells of all that is held. */
  #isTold() { return this.#kinds === undefined && isWithinWindow(this.#list); }

  /** Down to where a reader may be, so that nothing moves under their eyes when everything is read again. */
  #place(): number {
    const last = this.#options.holdNew ? this.#list.held.at(-1) : undefined;
    return last === undefined ? Infinity : Date.parse(last.node.createdAt);
  }

  /** What lies below the stream's reach may differ: it is read again until a read says what the list says. */
  #doubt() {
    this.#hasDoubts = true;
    if (this.#stop !== null) this.#comparisons.soon();
  }

  async #compare() {
    const mine = this.#generation;
    // It is in doubt again as soon as the stream has told what was missed.
    if (this.#stop === null || !this.#isRead || this.#isAwaited) return;
    try {
      await this.#inTurn(async () => {
        if (mine !== this.#generation) return;
        const reach = { depth: standing(this.#list).length || this.#options.first, floor: endOf(this.#list) };
        await this.#read(NOTHING, reach, this.#adoptCompared);
      });
      this.#error = null;
      this.#checkLater();
    } catch (reason) {
      if (mine !== this.#generation) return;
      this.#error = asError(reason);
      if (isPassing(reason)) this.#doubt();
    }
    this.#show();
  }

  #adoptCompared: Adopt = (fresh, isInDoubt) => {
    const isTrue = agree(this.#list, fresh) && !isInDoubt;
    this.#list = inPlaceOf(this.#list, fresh, this.#holds());
    this.#comparisons.ended(!isTrue);
    this.#hasDoubts = this.#comparisons.isDue;
    if (!isTrue) this.#doubt();
  };

  #checkLater() { if (this.#stop !== null) this.#comparisons.later(); }

  /** Nobody tells of what lies further down: it is compared now and then, while somebody looks. */
  #check() {
    if (globalThis.document?.visibilityState !== "hidden" && this.#isRead && !this.#isTold()) this.#doubt();
    else this.#checkLater();
  }

  #hear = (fact: Fact) => {
    if (fact.content != null || fact.user != null) {
      this.#list = { ...this.#list, held: this.#list.held.map((one) => ({ ...one, node: withFact(one.node, fact) })) };
    }
    if (fact.event !== undefined) this.#apply(fact.event);
    if (fact.comes !== undefined && this.#isRead && isOnlyBy(this.#list, fact.comes)) {
      [this.#list, this.#isFilling] = [nothingWaits(this.#list), true];
      void this.#begin(); // A page at once, and the stream from there on.
    } else if (fact.isInDoubt && this.#isRead && !this.#isTold()) this.#doubt();
    this.#show();
  };

  /** What a device has marked while this one did not listen. Best effort: the stream tells the next move. */
  #askForMarker = () => {
    const before = this.#readMarker;
    this.#parts.viewer.refresh().then((read) => {
      if (this.#readMarker === before) this.#readMarker = read?.timelineReadMarker ?? null;
      this.#show();
    }).catch(() => {});
  };

  #connectionChanged = () => {
    const isLive = this.#parts.socket.state.getSnapshot() === "live";
    if (!isLive) this.#await();
    clearTimeout(this.#marking);
    if (isLive) this.#marking = setTimeout(this.#askForMarker, this.#options.settleMs);
  };

  #enter() {
    this.#show();
    if (!this.#parts.session.getSnapshot().signedIn) return;
    if (this.#isRead) this.#listen();
    else void this.#begin();
    this.#askForMarker();
  }

  /** Another person's timeline is another timeline. */
  #forget() {
    this.#generation += 1;
    this.#leave();
    [this.#list, this.#journal, this.#isRead, this.#hasDoubts] = [NOTHING, null, false, false];
    [this.#token, this.#readMarker, this.#error] = [null, null, null];
  }

  #start() {
    if (this.#stop !== null) return;
    const { hub, socket, session } = this.#parts;
    let wasSignedIn = session.getSnapshot().signedIn;
    if (this.#isRead && this.#during !== session.getSnapshot()) this.#forget();
    const ends = [
      hub.onFact(this.#hear),
      hub.onIntents(() => { this.#show(); }),
      socket.state.subscribe(this.#connectionChanged),
      session.subscribe(() => {
        const { signedIn } = session.getSnapshot();
        if (signedIn === wasSignedIn) return;
        wasSignedIn = signedIn;
        this.#forget();
        this.#enter();
      }),
      onWakeUp(() => { if (this.#error !== null && !this.#isRead) void this.#begin(); }),
    ];
    this.#stop = () => { for (const one of ends) one(); };
    this.#checkLater();
    this.#enter();
  }

  #end() {
    this.#stop?.();
    this.#stop = null;
    this.#during = this.#parts.session.getSnapshot();
    this.#leave();
    clearTimeout(this.#marking);
    this.#comparisons.stop();
  }
}

export function createTimeline(parts: TimelineParts, options: TimelineOptions = {}): Timeline {
  const { state, loadOlder, showNew, markRead, refresh } = new LiveTimeline(parts, options);
  return { kinds: options.kinds ?? null, subscribe: state.subscribe, getSnapshot: state.getSnapshot, getServerSnapshot: state.getServerSnapshot, loadOlder, showNew, markRead, refresh };
}
