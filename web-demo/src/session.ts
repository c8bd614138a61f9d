// Who is signed in, kept in localStorage so that every tab and GraphiQL share it. Knows nothing of React components or GraphQL.
import { useSyncExternalStore } from "react";

export interface Session {
  token: string;
  handle: string;
  /** Until when the token is good, ISO 8601; null if the server gave none. */
  expiresAt: string | null;
  /** Gives the next token, once; null if the server gave none. */
  refreshToken: string | null;
}

export type EndReason = "signed-out" | "expired";

interface SessionState {
  session: Session | null;
  /** Why the last session ended, until the next begins. */
  ended: EndReason | null;
}

const KEY = "tidefeed.session";
const listeners = new Set<() => void>();
let state = load();

/** Whether the session's token is good for another `marginMs`, by this machine's clock. */
export function isGood(session: Session, marginMs = 0): boolean {
  return session.expiresAt === null || Date.parse(session.expiresAt) > Date.now() + marginMs;
}

function load(): SessionState {
  const session = readSession();
  if (session !== null && !isGood(session) && session.refreshToken === null) {
    localStorage.removeItem(KEY);
    return { session: null, ended: "expired" };
  }
  return { session, ended: null };
}

function isSession(value: unknown): value is Omit<Session, "refreshToken"> & Partial<Session> {
  return typeof value === "object" && value !== null && "token" in value && typeof value.token === "string" &&
    "handle" in value && typeof value.handle === "string" && "expiresAt" in value;
}

/** What storage holds now; null if there is nothing, or nothing readable. */
export function readSession(): Session | null {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? "null");
    return isSession(stored) ? { ...stored, refreshToken: stored.refreshToken ?? null } : null;
  } catch {
    return null;
  }
}

function change(next: SessionState) {
  state = next;
  for (const listener of listeners) listener();
}

export function beginSession(session: Session) {
  localStorage.setItem(KEY, JSON.stringify(session));
  change({ session, ended: null });
}

/** Whoever is signed in has another handle; what else storage holds, perhaps newer tokens, stays. */
export function renameSession(handle: string) {
  const session = readSession();
  if (session !== null) beginSession({ ...session, handle });
}

/** Of several reasons the first stands: answers to what was still under way come later. */
export function endSession(reason: EndReason) {
  if (state.session === null) return;
  localStorage.removeItem(KEY);
  change({ session: null, ended: reason });
}

// Another tab has signed in or out, or refreshed the tokens.
window.addEventListener("storage", (event) => {
  if (event.key === KEY || event.key === null) change(load());
});

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useSession(): SessionState {
  return useSyncExternalStore(subscribe, () => state);
}
