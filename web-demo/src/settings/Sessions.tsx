// Where the viewer is signed in, and how to end that: one session, or all of them.
import { ask, tidefeed } from "../api/tidefeed";
import { useRead } from "../api/useRead";
import { useState } from "react";
import { EndSessionDocument, SessionsDocument } from "../api/accountDocuments";
import { describeFailure } from "../api/userErrors";
import type { SessionsQuery } from "../gql/graphql";
import { ErrorNotice } from "../parts/ErrorNotice";
import { RelativeTime } from "../parts/RelativeTime";
import { clientName } from "./clientName";

type Session = NonNullable<NonNullable<SessionsQuery["viewer"]>["sessions"]>[number];

const day = new Intl.DateTimeFormat("en", { dateStyle: "medium" });

function SessionRow({ session, onChange }: { session: Session; onChange: () => Promise<unknown> }) {
  const [loading, setLoading] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const name = clientName(session.userAgent);

  async function finish() {
    setLoading(true);
    setFailure(null);
    try {
      const refused = (await ask(EndSessionDocument, { input: { sessionId: session.id } })).endSession?.userErrors[0];
      // One that has ended by itself is what was asked for.
      if (refused !== undefined && refused.code !== "NOT_FOUND") setFailure(refused.message);
      else await onChange();
    } catch (error) {
      setFailure(describeFailure(error));
    } finally {
      setLoading(false);
    }
  }

  return (
    <li className="session" data-testid="session">
      <div>
        <strong title={session.userAgent}>{name}</strong>
        <p className="muted">Signed in <RelativeTime iso={session.createdAt} ago /> · last used <RelativeTime iso={session.lastUsedAt} ago /></p>
        <p className="muted">Ends on {day.format(Date.parse(session.expiresAt))} unless used</p>
        {failure !== null && <p role="alert" className="field-error">{failure}</p>}
      </div>
      {session.isCurrent ? <span className="tag" data-testid="current-session">This one</span> : (
        <button type="button" className="button quiet small" aria-label={`End the session of ${name}`} disabled={loading}
          onClick={() => { void finish(); }} data-testid="end-session">End</button>
      )}
    </li>
  );
}

function SignOutEverywhere() {
  const [asking, setAsking] = useState(false);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);

  async function leave() {
    setBusy(true);
    try {
      await tidefeed.session.signOutEverywhere();
    } catch (error) {
      setFailure(describeFailure(error));
      setBusy(false);
    }
  }

  return (
    <div>
      {asking ? (
        <span className="confirm" role="group" aria-label="Sign out everywhere?">
          <span>Every session ends, this one too.</span>
          <button type="button" className="button danger small" disabled={busy} autoFocus onClick={() => { void leave(); }}
            data-testid="everywhere-confirm">Sign out everywhere</button>
          <button type="button" className="button quiet small" onClick={() => { setAsking(false); }}>Cancel</button>
        </span>
      ) : (
        <button type="button" className="button quiet small" onClick={() => { setAsking(true); }} data-testid="everywhere">Sign out everywhere</button>
      )}
      {failure !== null && <p role="alert" className="field-error">{failure}</p>}
    </div>
  );
}

export function Sessions() {
  const { data, error, loading, refresh } = useRead(SessionsDocument, {});
  const sessions = data?.viewer?.sessions;
  if (sessions == null && !loading) {
    return <ErrorNotice title="Your sessions did not load" error={error} onRetry={() => { void refresh(); }} />;
  }
  return (
    <section className="card settings" aria-labelledby="sessions">
      <h2 id="sessions">Where you are signed in</h2>
      {sessions == null
        ? <span role="status" aria-label="Loading your sessions" className="shimmer line" />
        : <ul className="sessions">{sessions.map((session) => <SessionRow key={session.id} session={session} onChange={refresh} />)}</ul>}
      <SignOutEverywhere />
    </section>
  );
}
