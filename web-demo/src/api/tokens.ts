// The token that goes with each request: the session's own, exchanged for a new one before it ends or when the server no longer
// takes it. Shared by the page and GraphiQL, so plain requests without Apollo.
import { beginSession, endSession, isGood, readSession, type Session } from "../session";

const MARGIN_MS = 30_000;
// For an answer; on a line that is dead nobody would say that none comes.
const ANSWER_MS = 10_000;
const REFRESH = `mutation Refresh($token: String!) {
  refreshToken(input: { refreshToken: $token }) {
    token
    expiresAt
    refreshToken
    userErrors { code }
  }
}`;
const SIGN_OUT = "mutation SignOut { signOut { endedSessions } }";
const SIGN_OUT_EVERYWHERE = "mutation SignOutEverywhere { signOutEverywhere { endedSessions } }";

interface RefreshAnswer {
  data?: {
    refreshToken: { token: string | null; expiresAt: string | null; refreshToken: string | null; userErrors: { code: string }[] } | null;
  };
}

function post(body: unknown, token?: string): Promise<Response> {
  const headers = new Headers({ "content-type": "application/json" });
  if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
  return fetch("/graphql", { method: "POST", headers, body: JSON.stringify(body), signal: AbortSignal.timeout(ANSWER_MS) });
}

/** One tab at a time, where the browser can: the others then find the new tokens in storage. */
function alone<Result>(work: () => Promise<Result>): Promise<Result> {
  return "locks" in navigator ? navigator.locks.request("tidefeed.refresh", work) : work();
}

let renewing: Promise<Session | null> | null = null;

/** The session with another token than `stale`; null if it has ended. Rejects if the server cannot be asked. */
function renew(stale: string): Promise<Session | null> {
  renewing ??= alone(() => exchange(stale)).finally(() => { renewing = null; });
  return renewing;
}

async function exchange(stale: string): Promise<Session | null> {
  const session = readSession();
  if (session === null || session.token !== stale) return session;
  if (session.refreshToken === null) return null;
  const response = await post({ query: REFRESH, variables: { token: session.refreshToken } });
  const answer = await response.json() as RefreshAnswer;
  const given = answer.data?.refreshToken;
  if (given?.userErrors.some(({ code }) => code === "SESSION_ENDED") === true) return null;
  if (given?.token == null) throw new Error(`no new token: ${response.status}`);
  // Whoever has signed out meanwhile stays so.
  if (readSession()?.token !== stale) return readSession();
  const renewed = { ...session, token: given.token, expiresAt: given.expiresAt, refreshToken: given.refreshToken };
  beginSession(renewed);
  return renewed;
}

/** The session's token, a new one if it is about to end; undefined if nobody is signed in. */
export async function accessToken(): Promise<string | undefined> {
  const session = readSession();
  if (session === null || isGood(session, MARGIN_MS)) return session?.token;
  // If the server cannot be asked now, it may say itself what it thinks of the present one.
  const renewed = await renew(session.token).catch(() => session);
  if (renewed === null) endSession("expired");
  return renewed?.token;
}

/** The server does not take the present token: gets another one, or ends the session. */
export async function replaceToken(refused: string | undefined): Promise<string | undefined> {
  if (refused === undefined) return undefined;
  const renewed = await renew(refused);
  if (renewed === null) endSession("expired");
  return renewed?.token;
}

/** `fetch` with the session's token, unless the request has one of its own. What is answered 401 did not run, and is sent again with a new one. */
export async function signedFetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const headers = new Headers(init?.headers);
  if (headers.has("authorization")) return fetch(input, init);
  const send = (token: string | undefined) => {
    if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
    return fetch(input, { ...init, headers });
  };
  const token = await accessToken();
  const response = await send(token);
  if (response.status !== 401) return response;
  const another = await replaceToken(token);
  return another === undefined ? response : send(another);
}

/** Ends the session here at once, and on the server as soon as it hears of it. */
export function signOut() {
  const token = readSession()?.token;
  endSession("signed-out");
  if (token !== undefined) post({ query: SIGN_OUT }, token).catch(() => { /* It ends by itself, unused. */ });
}

/**
 * Ends all sessions of the user on the server, then this one here. Rejects if the server does not say that it has. Meanwhile
 * nobody asks for another token: this session ends signed out, not expired.
 */
export async function signOutEverywhere() {
  const token = await accessToken();
  await alone(async () => {
    const response = await post({ query: SIGN_OUT_EVERYWHERE }, token);
    const answer = await response.json() as { data?: { signOutEverywhere: unknown } };
    if (answer.data?.signOutEverywhere == null) throw new Error("The sessions did not end. Try again.");
    endSession("signed-out");
  });
}
