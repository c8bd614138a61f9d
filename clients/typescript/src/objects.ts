// Single objects that are watched: the viewer, and contents by their id. Read when somebody watches, changed by what the viewer does.
import { documents } from "./documents.js";
import { type Hub, withFact, withIntent } from "./hub.js";
import { type Observable, source } from "./observable.js";
import type { Send } from "./request.js";
import type { Session } from "./session.js";
import type { Content, Viewer } from "./types.js";

export interface Read<Value> {
  /** Null if there is none, or none any more; while `isLoading` it is not known. */
  value: Value | null;
  isLoading: boolean;
  error: Error | null;
}

export interface ViewerStore extends Observable<Read<Viewer>> {
  /** Reads the viewer anew. */
  refresh: () => Promise<Viewer | null>;
}

const NOT_READ = { value: null, isLoading: true, error: null };
const NOBODY = { value: null, isLoading: false, error: null };

export function createViewer(send: Send, session: Session, hub: Hub): ViewerStore {
  let end = () => {};
  let round = 0;
  const state = source<Read<Viewer>>(NOT_READ, (isWatched) => {
    end();
    if (isWatched) start();
  });

  async function refresh() {
    round += 1;
    const mine = round;
    if (!session.getSnapshot().signedIn) {
      state.set(NOBODY);
      return null;
    }
    try {
      const { viewer } = await send<{ viewer: Viewer | null }>(documents.viewer);
      if (mine === round) state.set({ value: viewer, isLoading: false, error: null });
      return viewer;
    } catch (error) {
      if (mine === round) state.set({ ...state.getSnapshot(), isLoading: false, error: error as Error });
      throw error;
    }
  }

  function start() {
    const again = () => { refresh().catch(() => { /* The state says it. */ }); };
    const ends = [
      session.subscribe(() => {
        state.set(NOT_READ);
        again();
      }),
      // What they have done may have changed how many they follow or have published.
      hub.onFact(({ user, event, published }) => { if (user != null || event !== undefined || published !== undefined) again(); }),
    ];
    end = () => { for (const one of ends) one(); };
    again();
  }

  return { subscribe: state.subscribe, getSnapshot: state.getSnapshot, getServerSnapshot: state.getServerSnapshot, refresh };
}

export function createContent(send: Send, hub: Hub, id: string): Observable<Read<Content>> {
  let end = () => {};
  let read: Read<Content> = NOT_READ;
  const state = source<Read<Content>>(read, (isWatched) => {
    end();
    if (isWatched) start();
  });
  const show = () => { state.set({ ...read, value: read.value && hub.intents().reduce(withIntent, read.value) }); };

  function start() {
    const ends = [
      hub.onIntents(show),
      hub.onFact((fact) => {
        const isGone = fact.event?.__typename === "ContentRemoved" && fact.event.contentId === id;
        read = { ...read, value: isGone ? null : read.value && withFact(read.value, fact) };
        show();
      }),
    ];
    end = () => { for (const one of ends) one(); };
    send<{ content: Content | null }>(documents.content, { id }).then(
      ({ content }) => { read = { value: content, isLoading: false, error: null }; },
      (error: Error) => { read = { ...read, isLoading: false, error }; },
    ).finally(show);
  }

  return { subscribe: state.subscribe, getSnapshot: state.getSnapshot, getServerSnapshot: state.getServerSnapshot };
}
