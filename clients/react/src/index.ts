// Hooks on a client of @tidefeed/client. Each reads while it is mounted, and renders the same on a server: as long as nothing has been read.
import type { ConnectionState, Content, Observable, Query, QueryOptions, QuerySnapshot, Read, Rest, SessionState, Tidefeed, Timeline, TimelineOptions, TimelineSnapshot, TypedDocument, User, Viewer } from "@tidefeed/client";
import { createContext, createElement, type ReactNode, useCallback, useContext, useMemo, useState, useSyncExternalStore } from "react";

export * from "./uploads.js";

const Client = createContext<Tidefeed | null>(null);

/** Gives `client` to the hooks below it. */
export function TidefeedProvider({ client, children }: { client: Tidefeed; children?: ReactNode }) {
  return createElement(Client.Provider, { value: client }, children);
}

/** The client of the nearest provider; an error if there is none. */
export function useTidefeed(): Tidefeed {
  const client = useContext(Client);
  if (client === null) throw new Error("There is no <TidefeedProvider client={...}> above this component.");
  return client;
}

/** The value of any observable of the client. */
export function useObservable<Value>({ subscribe, getSnapshot, getServerSnapshot = getSnapshot }: Observable<Value>): Value {
  return useSyncExternalStore(subscribe, getSnapshot, getServerSnapshot);
}

export const useSession = (): SessionState => useObservable(useTidefeed().session);
export const useConnection = (): ConnectionState => useObservable(useTidefeed().connection);
export const useViewer = (): Read<Viewer> => useObservable(useTidefeed().viewer);

/** The viewer's timeline, with what can be done to it. `options` count when the component is mounted. */
export function useTimeline(options?: TimelineOptions): TimelineSnapshot & Omit<Timeline, keyof Observable<unknown> | "kinds"> {
  const client = useTidefeed();
  const [settings] = useState(options);
  const timeline = useMemo(() => client.timeline(settings), [client, settings]);
  const snapshot = useObservable(timeline);
  return useMemo(() => {
    const { loadOlder, showNew, markRead, refresh } = timeline;
    return { ...snapshot, loadOlder, showNew, markRead, refresh };
  }, [snapshot, timeline]);
}

/** A content by its id, changed by what the viewer does. */
export function useContent(id: string): Read<Content> {
  const client = useTidefeed();
  return useObservable(useMemo(() => client.content(id), [client, id]));
}

export interface Follow {
  /** As asked for, until it is refused. */
  isFollowing: boolean;
  isPending: boolean;
  /** Why the last change did not happen. */
  error: string | null;
  toggle: () => void;
}

/** Whether the viewer follows `user`, such as the author of a content, and a switch for it. */
export function useFollow({ id, viewerIsFollowing }: Pick<User, "id" | "viewerIsFollowing">): Follow {
  const client = useTidefeed();
  const [asked, setAsked] = useState<boolean | null>(null);
  const [known, setKnown] = useState(viewerIsFollowing);
  const [error, setError] = useState<string | null>(null);
  const isFollowing = asked ?? known ?? false;
  if (asked === null && known !== viewerIsFollowing) setKnown(viewerIsFollowing);
  const toggle = useCallback(() => {
    const next = !isFollowing;
    setAsked(next);
    setError(null);
    (next ? client.follow(id) : client.unfollow(id)).then((errors) => {
      setError(errors[0]?.message ?? null);
      if (errors.length === 0) setKnown(next);
    }, (failure: Error) => { setError(failure.message); }).finally(() => { setAsked(null); });
  }, [client, id, isFollowing]);
  return { isFollowing, isPending: asked !== null, error, toggle };
}

type Asked<Data> = QuerySnapshot<Data> & Omit<Query<Data>, keyof Observable<unknown>>;

/** The answer to a query, with its further pages. `options` count when it is asked for the first time. */
export function useQuery<Data>(document: string, variables?: Record<string, unknown>, options?: QueryOptions): Asked<Data>;
export function useQuery<Data, Variables>(document: TypedDocument<Data, Variables>, ...rest: Rest<Variables, QueryOptions>): Asked<Data>;
export function useQuery(document: unknown, variables?: Record<string, unknown>, options?: QueryOptions): Asked<unknown> {
  const query = useTidefeed().query<unknown>(document as string, variables, options);
  const snapshot = useObservable(query);
  return useMemo(() => ({ ...snapshot, refresh: query.refresh, loadMore: query.loadMore }), [snapshot, query]);
}
