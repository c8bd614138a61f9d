// Who is signed in where an external issuer does that: its tokens, for every request and socket.
import { asError, RequestError } from "./failure.js";
import { source } from "./observable.js";
import { type Session, type SessionState, signedBy, UNKNOWN } from "./session.js";

/** Gives a token, or null for nobody. It is called for each request and socket; with its last token, if the server has refused that. */
export type Issuer = (refused: string | null) => string | null | Promise<string | null>;

function notHere(): never { throw new Error("Who gives tokens (option `token`) signs people in and out."); }

/** Somebody is signed in until `give` knows nobody. */
export function issuedSession(plain: typeof fetch, give: Issuer): Session {
  const state = source<SessionState>({ signedIn: true, ended: null });
  let asking: Promise<string | null> | null = null;
  let last: string | null = null;
  let refused: string | null = null;

  /** Asked once for all who ask meanwhile. */
  async function token() {
    asking ??= Promise.resolve(refused).then(give).finally(() => { asking = null; });
    const given = await asking.catch((reason: unknown) => { throw new RequestError(`No token: ${asError(reason).message}`, "UNREACHABLE"); });
    if (given !== last) [last, refused] = [given, null];
    const signedIn = given !== null;
    if (signedIn !== state.getSnapshot().signedIn) state.set({ signedIn, ended: signedIn ? null : "signed-out" });
    return given;
  }

  /** One that has been replaced already need not be. */
  const refuse = (used: string | null) => { if (used === last) refused = used; };
  return {
    subscribe: state.subscribe, getSnapshot: state.getSnapshot, getServerSnapshot: () => UNKNOWN,
    signIn: notHere, register: notHere, signOut: notHere, signOutEverywhere: notHere, deleteAccount: notHere,
    token, refuse, fetch: signedBy(plain, { token, refuse }),
  };
}
