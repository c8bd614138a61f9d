// Who is signed in: tokens for every request and socket, refreshed shortly before they end or when one is refused, once for all who ask and for all tabs.
import { credentials } from "./credentials.js";
import { RequestError } from "./failure.js";
import { type Observable, source } from "./observable.js";
import { noGraphQL, post, type Post } from "./post.js";
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

/** Null where there is none that works: Node 25 has one without methods, and where a browser blocks site data, asking for it throws. */
function storage(): Storage | null {
  try {
    return typeof globalThis.localStorage.setItem === "function" ? globalThis.localStorage : null;
  } catch {
    return null;
  }
}

/** Tokens in localStorage, where every tab of the page finds them. What it does not take is in memory, for this page. */
export function localStore(key = "tidefeed.tokens"): TokenStore {
  let kept: { tokens: Tokens | null } | null = null;
  return {
    read() {
      if (kept !== null) return kept.tokens;
      try {
        const stored = JSON.parse(storage()?.getItem(key) ?? "null") as Partial<Tokens> | null;
        return stored?.token && stored.expiresAt && stored.refreshToken ? stored as Tokens : null;
      } catch {
        return null;
      }
    },
    write(tokens) {
      const place = storage();
      kept = place === null ? { tokens } : null;
      try {
        if (tokens === null) place?.removeItem(key);
        else place?.setItem(key, JSON.stringify(tokens));
      } catch {
        kept = { tokens };
        // The former ones are no good to any tab.
        try {
          place?.removeItem(key);
        } catch { /* They stay there, and this page does not read them. */ }
      }
    },
    watch(changed) {
      const heard = (event: StorageEvent) => {
        if (event.key !== key && event.key !== null) return;
        kept = null; // Another tab has stored something since.
        changed();
      };
      globalThis.addEventListener?.("storage", heard);
      return () => { globalThis.removeEventListener?.("storage", heard); };
    },
  };
}

/** "expired": the server has ended the session, or it has run out. "deleted": here the user has just deleted their account. */
export interface SessionState {
  signedIn: boolean;
  ended: "signed-out" | "expired" | "deleted" | null;
}

/** Tokens are the browser's: whoever renders for it does not know them. */
export const UNKNOWN: SessionState = { signedIn: false, ended: null };

export interface Session extends Observable<SessionState> {
  /** Empty if it has succeeded; else why not. */
  signIn: (input: { handle: string; password: string }) => Promise<UserError[]>;
  register: (input: { handle: string; name: string; password: string; bio?: string; avatarUrl?: string }) => Promise<UserError[]>;
  /** Ends the session here at once, and on the server as soon as it hears of it. */
  signOut: () => void;
  /** Ends all of the user's sessions. Rejects, and ends none here, if the server does not say that it has. */
  signOutEverywhere: () => Promise<void>;
  /** Deletes the user's account, for good. Empty if it is gone, and the session with it; else why not. Null for users who have no password. */
  deleteAccount: (password: string | null) => Promise<UserError[]>;
  /** A token that is good; null for nobody. Of an external issuer's it also says anew whether somebody is signed in. */
  token: () => Promise<string | null>;
  /** The server does not take `token`: the next one that is asked for is another. */
  refuse: (token: string | null) => void;
  /** `fetch` with the session's token. What is answered 401 did not run, and is sent again once, with a new token. */
  fetch: typeof fetch;
}

/** `moment` as this machine's clock will show it, which may be wrong: it is `ahead` of the server's. */
const byOwnClock = (moment: string, ahead: number) => new Date(Date.parse(moment) + ahead).toISOString();

/** One tab at a time, where the platform can and may: the others then find the new tokens in the store. */
async function alone<Result>(work: () => Promise<Result>): Promise<Result> {
  const locks = (globalThis.navigator as Partial<Navigator> | undefined)?.locks;
  let running: Promise<Result> | undefined;
  // It refuses where the browser refuses storage.
  await locks?.request("tidefeed.refresh", () => (running = work())).catch(() => {});
  return running ?? work();
}

export interface SessionOptions extends Post {
  store: TokenStore;
}

/** What each mutation of a session answers. */
type Payload = Partial<Tokens> & { userErrors: UserError[]; retryAt?: string | null };

const signed = (plain: typeof fetch, used: string | null): typeof fetch => (url, init = {}) => {
  const headers = new Headers(init.headers);
  if (used !== null) headers.set("authorization", `Bearer ${used}`);
  return plain(url, { ...init, headers });
};

/** `plain` with a session's token, and once more with another one if that is refused. */
export const signedBy = (plain: typeof fetch, { token, refuse }: Pick<Session, "token" | "refuse">): typeof fetch => async (url, init) => {
  const used = await token();
  const response = await signed(plain, used)(url, init);
  if (response.status !== 401 || used === null) return response;
  refuse(used);
  const another = await token();
  return another === null ? response : signed(plain, another)(url, init);
};

export function sessionAt({ store, ...at }: SessionOptions): Session {
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

  async function ask(query: string, field: string, input: unknown, used: string | null = null) {
    const { response, answer } = await post<Record<string, Payload | null>>({ ...at, fetch: signed(at.fetch, used) }, query, { input });
    const given = answer?.data?.[field];
    if (given == null) {
      const fault = answer?.errors?.[0];
      throw new RequestError(fault?.message ?? noGraphQL(at, response), fault?.extensions?.code ?? "INTERNAL_SERVER_ERROR");
    }
    const { token, expiresAt, refreshToken, retryAt, userErrors } = given;
    const ahead = Date.now() - Date.parse(response.headers.get("date") ?? "") || 0;
    const tokens = token && expiresAt && refreshToken ? { token, expiresAt: byOwnClock(expiresAt, ahead), refreshToken } : null;
    return { tokens, userErrors: retryAt == null ? userErrors : userErrors.map((error) => ({ ...error, retryAt })) };
  }

  async function refresh(refreshToken: string) {
    const isCurrent = () => store.read()?.refreshToken === refreshToken;
    if (!isCurrent()) return; // Another tab was faster.
    const once = () => ask(credentials.refreshToken, "refreshToken", { refreshToken });
    const given = await once().catch(once); // An answer that was lost is given again, at once.
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

  const refuse = (used: string | null) => { refused = used; };

  const enter = (document: string, field: string) => async (input: unknown) => {
    const { tokens, userErrors } = await ask(document, field, input);
    if (tokens !== null) begin(tokens);
    return userErrors;
  };

  return {
    subscribe: state.subscribe,
    getSnapshot: state.getSnapshot,
    getServerSnapshot: () => UNKNOWN,
    signIn: enter(credentials.signIn, "signIn"),
    register: enter(credentials.registerUser, "registerUser"),
    signOut() {
      const tokens = store.read();
      end("signed-out");
      if (tokens !== null) ask(credentials.signOut, "signOut", undefined, tokens.token).catch(() => { /* It ends by itself, unused. */ });
    },
    async signOutEverywhere() {
      const used = await token();
      // Meanwhile no tab asks for another token: this session ends signed out, not expired.
      await alone(async () => {
        await ask(credentials.signOutEverywhere, "signOutEverywhere", undefined, used);
        end("signed-out");
      });
    },
    async deleteAccount(password) {
      const used = await token();
      // As above: the server ends the session before it answers.
      return alone(async () => {
        const { userErrors } = await ask(credentials.deleteViewer, "deleteViewer", { password }, used);
        if (userErrors.length === 0) end("deleted");
        return userErrors;
      });
    },
    token,
    refuse,
    fetch: signedBy(at.fetch, { token, refuse }),
  };
}
