// Who is signed in: tokens for every request and socket, refreshed shortly before they end or when one is refused, once for all who ask and for all tabs.
import { documents } from "./documents.js";
import { type Observable, source } from "./observable.js";
import type { Tokens, UserError } from "./types.js";

/** So long before its end a token is changed for a new one. */
const EARLY_MS = 30_000;

/** Where tokens are kept. `watch` calls back when somebody else, such as another tab, has changed them. */
export interface TokenStore {
  read: () => Tokens | null;
  write: (tokens: Tokens | null) => void;
  watch?: (changed: () => void) => () => void;
}

/** Tokens in memory: for tests, servers and pages that are to forget. */
export function memoryStore(tokens: Tokens | null = null): TokenStore {
  return { read: () => tokens, write: (next) => { tokens = next; } };
}

/** Tokens in localStorage, where every tab of the page finds them. */
export function localStore(key = "tidefeed.tokens"): TokenStore {
  return {
    read() {
      try {
        const stored = JSON.parse(localStorage.getItem(key) ?? "null") as Partial<Tokens> | null;
        return stored?.token && stored.expiresAt && stored.refreshToken ? stored as Tokens : null;
      } catch {
        return null;
      }
    },
    write(tokens) {
      if (tokens === null) localStorage.removeItem(key);
      else localStorage.setItem(key, JSON.stringify(tokens));
    },
    watch(changed) {
      const heard = (event: StorageEvent) => { if (event.key === key || event.key === null) changed(); };
      globalThis.addEventListener("storage", heard);
      return () => { globalThis.removeEventListener("storage", heard); };
    },
  };
}

/** "expired": the server has ended the session, or it has run out. */
export interface SessionState {
  signedIn: boolean;
  ended: "signed-out" | "expired" | null;
}

export interface Session extends Observable<SessionState> {
  /** Empty if it has succeeded; else why not. */
  signIn: (input: { handle: string; password: string }) => Promise<UserError[]>;
  register: (input: { handle: string; name: string; password: string; bio?: string; avatarUrl?: string }) => Promise<UserError[]>;
  /** Ends the session here at once, and on the server as soon as it hears of it. */
  signOut: () => void;
  /** A token that is good; null for nobody. */
  token: () => Promise<string | null>;
  /** The server does not take `token`: the next one that is asked for is another. */
  refuse: (token: string | null) => void;
  /** `fetch` with the session's token. What is answered 401 did not run, and is sent again once, with a new token. */
  fetch: typeof fetch;
}

interface Answer { data?: Record<string, (Partial<Tokens> & { userErrors: UserError[] }) | null> | null; errors?: { message: string }[] }

/** One tab at a time, where the platform can: the others then find the new tokens in the store. */
function alone<Result>(work: () => Promise<Result>): Promise<Result> {
  const locks = (globalThis.navigator as Partial<Navigator> | undefined)?.locks;
  return locks === undefined ? work() : locks.request("tidefeed.refresh", work) as Promise<Result>;
}

export interface SessionOptions {
  /** The server's, ending in /graphql. */
  endpoint: string;
  store: TokenStore;
  fetch: typeof fetch;
  /** For an answer: on a dead line nobody would say that none comes. */
  answerMs: number;
}

export function createSession({ endpoint, store, fetch, answerMs }: SessionOptions): Session {
  const state = source<SessionState>({ signedIn: store.read() !== null, ended: null });
  let refreshing: Promise<void> | null = null;
  let refused: string | null = null;

  const begin = (tokens: Tokens) => {
    store.write(tokens);
    if (!state.getSnapshot().signedIn) state.set({ signedIn: true, ended: null });
  };
  const end = (ended: SessionState["ended"]) => {
    store.write(null);
    if (state.getSnapshot().signedIn) state.set({ signedIn: false, ended });
  };
  store.watch?.(() => {
    const signedIn = store.read() !== null;
    if (signedIn !== state.getSnapshot().signedIn) state.set({ signedIn, ended: signedIn ? null : "signed-out" });
  });

  async function ask(query: string, input: unknown, token?: string): Promise<Answer> {
    const headers = { "content-type": "application/json", ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
    const body = JSON.stringify({ query, variables: { input } });
    const response = await fetch(endpoint, { method: "POST", headers, body, signal: AbortSignal.timeout(answerMs) });
    return await response.json() as Answer;
  }

  function payload(answer: Answer, field: string) {
    const given = answer.data?.[field];
    if (given == null) throw new Error(answer.errors?.[0]?.message ?? "The server gave no answer.");
    const { token, expiresAt, refreshToken, userErrors } = given;
    return { tokens: token && expiresAt && refreshToken ? { token, expiresAt, refreshToken } : null, userErrors };
  }

  async function refresh(refreshToken: string) {
    const isCurrent = () => store.read()?.refreshToken === refreshToken;
    if (!isCurrent()) return; // Another tab was faster.
    const once = () => ask(documents.refreshToken, { refreshToken });
    const given = payload(await once().catch(once), "refreshToken"); // An answer that was lost is given again, at once.
    if (!isCurrent()) return; // Whoever has signed out meanwhile stays so.
    if (given.tokens !== null) store.write(given.tokens);
    else end("expired");
  }

  async function token() {
    const tokens = store.read();
    if (tokens !== null && (tokens.token === refused || Date.parse(tokens.expiresAt) - Date.now() < EARLY_MS)) {
      refreshing ??= alone(() => refresh(tokens.refreshToken)).finally(() => { refreshing = null; });
      try {
        await refreshing;
      } catch (error) {
        // The server cannot be asked now: it may say itself what it thinks of a token that it has not refused yet.
        if (tokens.token === refused) throw error;
      }
    }
    return store.read()?.token ?? null;
  }

  async function signedFetch(url: Parameters<typeof fetch>[0], init: RequestInit = {}) {
    const send = (used: string | null) => {
      const headers = new Headers(init.headers);
      if (used !== null) headers.set("authorization", `Bearer ${used}`);
      return fetch(url, { ...init, headers });
    };
    const used = await token();
    const response = await send(used);
    if (response.status !== 401 || used === null) return response;
    refused = used;
    const another = await token();
    return another === null ? response : send(another);
  }

  const enter = (document: string, field: string) => async (input: unknown) => {
    const { tokens, userErrors } = payload(await ask(document, input), field);
    if (tokens !== null) begin(tokens);
    return userErrors;
  };

  return {
    subscribe: state.subscribe,
    getSnapshot: state.getSnapshot,
    signIn: enter(documents.signIn, "signIn"),
    register: enter(documents.registerUser, "registerUser"),
    signOut() {
      const tokens = store.read();
      end("signed-out");
      if (tokens !== null) ask(documents.signOut, undefined, tokens.token).catch(() => { /* It ends by itself, unused. */ });
    },
    token,
    refuse: (used) => { refused = used; },
    fetch: signedFetch,
  };
}
