// The answer to any query, watched: its contents and users change with what the viewer does, and its connection grows page by page.
import { asError } from "./failure.js";
import { type Fact, type Hub, type Intent } from "./hub.js";
import { type Observable, source } from "./observable.js";
import type { Send } from "./request.js";
import type { Rest, TypedDocument } from "./typed.js";
import type { Original, User } from "./types.js";

export interface QuerySnapshot<Data> {
  /** The last answer; null before there is one. */
  value: Data | null;
  isLoading: boolean;
  error: Error | null;
  /** Whether the answer's connection goes on. */
  hasMore: boolean;
  isLoadingMore: boolean;
  /** Of how many pages the answer is made. */
  pages: number;
  /** Why the next page did not come. */
  moreError: Error | null;
}

export interface Query<Data> extends Observable<QuerySnapshot<Data>> {
  /** Asks again, for as many pages as there are. */
  refresh: () => Promise<void>;
  /** Reads the next page of the answer's connection, with its end as the variable `after`. */
  loadMore: () => Promise<void>;
}

export interface QueryOptions {
  /** Whether something that the viewer has done, or has been told of, makes it worth asking again. */
  outdatedBy?: (fact: Fact) => boolean;
}

export interface Ask {
  <Data>(document: string, variables?: Record<string, unknown>, options?: QueryOptions): Query<Data>;
  <Data, Variables>(document: TypedDocument<Data, Variables>, ...rest: Rest<Variables, QueryOptions>): Query<Data>;
}

type Json = { [key: string]: unknown };
interface Connection { edges: { cursor: string }[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } }

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);
const isConnection = (value: Json) => Array.isArray(value.edges) && isObject(value.pageInfo);

function connectionIn(value: unknown): Connection | null {
  if (!isObject(value)) return null;
  if (isConnection(value)) return value as unknown as Connection;
  for (const one of Object.values(value)) {
    const found = connectionIn(one);
    if (found !== null) return found;
  }
  return null;
}

/** The newer of two answers, with the older one's edges before its own. */
function joined(older: unknown, newer: unknown): unknown {
  if (!isObject(older) || !isObject(newer)) return newer;
  if (isConnection(newer)) {
    const [{ edges: before }, { edges }] = [older, newer] as unknown as [Connection, Connection];
    const known = new Set(before.map(({ cursor }) => cursor));
    return { ...newer, edges: [...before, ...edges.filter(({ cursor }) => !known.has(cursor))] };
  }
  return Object.fromEntries(Object.entries(newer).map(([key, one]) => [key, joined(older[key], one)]));
}

/** `value` with `change` applied to every object in it, from within; what `change` takes away leaves null, and an edge goes. The same object if nothing changes. */
function mapped(value: unknown, change: (object: Json) => Json | null): unknown {
  if (Array.isArray(value)) {
    const next = value.map((one: unknown) => mapped(one, change));
    if (next.every((one, index) => one === value[index])) return value;
    return next.filter((one, index) => !(isObject(one) && one.node === null && (value[index] as Json).node !== null));
  }
  if (!isObject(value)) return value;
  // Attributes are the product's own: what is in them is no content and no user.
  const entries = Object.entries(value).map(([key, one]) => [key, key === "attributes" ? one : mapped(one, change)] as const);
  return change(entries.some(([key, one]) => one !== value[key]) ? Object.fromEntries(entries) : value);
}

/** `object` with what `other` says of the fields that it has. */
function withFieldsOf(object: Json, other: object): Json {
  const news = Object.entries(other).filter(([key, one]) => key in object && !isObject(one) && object[key] !== one);
  return news.length === 0 ? object : { ...object, ...Object.fromEntries(news) };
}

const isContent = (object: Json) => "subjectId" in object && "viewerHasReposted" in object;
const isUser = (object: Json) => "handle" in object && "viewerIsFollowing" in object;

const withIntents = <Data>(value: Data, intents: readonly Intent[]) => (intents.length === 0 ? value : mapped(value, (object) => intents.reduce<Json | null>((one, intent) => {
  if (one === null || (intent.removes !== undefined && one.id === intent.removes)) return null;
  if (intent.content !== undefined && isContent(one)) return intent.content(one as unknown as Original) as unknown as Json;
  return intent.user !== undefined && isUser(one) ? intent.user(one as unknown as User) as unknown as Json : one;
}, object)) as Data);

const withFact = <Data>(value: Data, { content, user, event }: Fact) => mapped(value, (object) => {
  if (typeof object.id !== "string") return object;
  if (event?.__typename === "ContentRemoved" && object.id === event.contentId) return null;
  if (object.id === content?.id) return withFieldsOf(object, content);
  if (content != null && isContent(object) && object.subjectId === content.id) return { ...object, viewerHasReposted: content.viewerHasReposted };
  return object.id === user?.id ? withFieldsOf(object, user as object) : object;
}) as Data;

const NOT_ASKED = { value: null, isLoading: true, error: null, hasMore: false, isLoadingMore: false, pages: 1, moreError: null };

export function createQuery<Data>(send: Send, hub: Hub, document: string, variables: Record<string, unknown>, { outdatedBy }: QueryOptions): Query<Data> {
  let read: QuerySnapshot<Data> = NOT_ASKED;
  let round = 0;
  let refreshing: Promise<void> = Promise.resolve();
  let end = () => {};
  const state = source<QuerySnapshot<Data>>(read, (isWatched) => {
    end();
    if (isWatched) start();
  });

  function show(news: Partial<QuerySnapshot<Data>> = {}) {
    read = { ...read, ...news };
    const value = read.value === null ? null : withIntents(read.value, hub.intents());
    state.set({ ...read, value, hasMore: connectionIn(value)?.pageInfo.hasNextPage ?? false });
  }

  const pageAfter = (value: Data) => send<Data>(document, { ...variables, after: connectionIn(value)?.pageInfo.endCursor });

  const refresh = () => {
    refreshing = readAgain();
    return refreshing;
  };

  async function readAgain() {
    round += 1;
    const mine = round;
    if (!read.isLoading) show({ isLoading: true });
    try {
      let value: Data = await send<Data>(document, variables);
      let had = 1;
      for (; mine === round && had < read.pages && connectionIn(value)?.pageInfo.hasNextPage; had += 1) value = joined(value, await pageAfter(value)) as Data;
      if (mine !== round) return;
      show({ value, pages: had, isLoading: false, error: null, isLoadingMore: false, moreError: null });
    } catch (error) {
      if (mine === round) show({ isLoading: false, isLoadingMore: false, error: asError(error) });
    }
  }

  async function loadMore() {
    await refreshing;
    const mine = round;
    if (read.value === null || read.isLoading || read.isLoadingMore || !state.getSnapshot().hasMore) return;
    show({ isLoadingMore: true, moreError: null });
    try {
      const page = await pageAfter(read.value);
      if (mine !== round) return;
      show({ value: joined(read.value, page) as Data, pages: read.pages + 1, isLoadingMore: false });
    } catch (error) {
      if (mine === round) show({ isLoadingMore: false, moreError: asError(error) });
    }
  }

  function start() {
    const ends = [
      hub.onIntents(() => { show(); }),
      hub.onFact((fact) => {
        if (read.value !== null) show({ value: withFact(read.value, fact) });
        if (outdatedBy?.(fact)) void refresh();
      }),
    ];
    end = () => { for (const one of ends) one(); };
    void refresh();
  }

  return { subscribe: state.subscribe, getSnapshot: state.getSnapshot, getServerSnapshot: state.getServerSnapshot, refresh, loadMore };
}

/** So many answers are kept for who comes back. */
const KEPT = 60;

/** Makes queries; who asks for the same again gets the same one. `forget` drops them all. */
export function createQueries(send: Send, hub: Hub) {
  const known = new Map<string, Query<unknown>>();
  // A typed document is sent as any other.
  const query = (document: string, variables: Record<string, unknown> = {}, options: QueryOptions = {}) => {
    const key = JSON.stringify([document, variables]);
    const query = known.get(key) ?? createQuery<unknown>(send, hub, document, variables, options);
    known.delete(key);
    known.set(key, query);
    const [oldest] = known.keys();
    if (known.size > KEPT && oldest !== undefined) known.delete(oldest);
    return query;
  };
  return { query: query as Ask, forget: () => { known.clear(); } };
}
