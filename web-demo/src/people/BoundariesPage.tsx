// Whom the viewer has muted, hides from, or has blocked: three lists, a click apart. Nobody else sees them.
import { useRead } from "../api/useRead";
import { BlockedDocument, HiddenDocument, MutedDocument } from "../api/boundaryDocuments";
import { EmptyState } from "../parts/EmptyState";
import { ErrorNotice } from "../parts/ErrorNotice";
import { PageHead } from "../parts/PageHead";
import { PeopleSkeletons } from "../parts/Skeletons";
import { BOUNDARIES, boundariesPath, type Boundary } from "../routing";
import { PeopleList } from "./PeopleList";
import { type BoundedUser, useBoundaries } from "./useBoundaries";

const DOCUMENTS = { mute: MutedDocument, hide: HiddenDocument, block: BlockedDocument } as const;

const WORDS = {
  mute: {
    title: "Muted", begin: "Mute", end: "Unmute", nobody: "You have muted nobody",
    meaning: "Nothing of whoever you mute comes to your timeline, followed or not. They are not told.",
  },
  hide: {
    title: "Hidden", begin: "Hide", end: "Unhide", nobody: "You hide from nobody",
    meaning: "Nothing of yours comes to the timeline of whoever you hide from. Your profile stays public, and they are not told.",
  },
  block: {
    title: "Blocked", begin: "Block", end: "Unblock", nobody: "You have blocked nobody",
    meaning: "You and whoever you block do not follow each other, and neither is shown what the other publishes.",
  },
} as const;

function BoundaryButton({ user, boundary }: { user: BoundedUser; boundary: Boundary }) {
  const { has, busy, refusal, toggle } = useBoundaries(user);
  const { begin, end } = WORDS[boundary];
  const label = has[boundary] ? end : begin;
  return (
    <span className="follow">
      <button type="button" className="button quiet" aria-label={`${label} ${user.name}`} disabled={busy}
        onClick={() => { void toggle(boundary); }} data-testid="toggle-boundary">{label}</button>
      {refusal !== null && <span role="alert" className="field-error">{refusal}</span>}
    </span>
  );
}

export function BoundariesPage({ boundary }: { boundary: Boundary }) {
  const query = DOCUMENTS[boundary];
  const { data, error, loading, nextPage, refresh } = useRead(query, {});
  const people = data?.viewer?.people;
  const { title, nobody, meaning } = WORDS[boundary];

  return (
    <>
      <title>{`${title} · Tidefeed`}</title>
      <PageHead title="Whom you keep out"><span className="muted">Only you see them</span></PageHead>
      <nav className="tabs card" aria-label="Muted, hidden from and blocked">
        {BOUNDARIES.map((other) => (
          <a key={other} href={boundariesPath(other)} aria-current={other === boundary ? "page" : undefined} data-testid={`tab-${other}`}>
            {WORDS[other].title}
          </a>
        ))}
      </nav>
      {people == null && loading && <PeopleSkeletons count={4} label="Loading people" />}
      {people == null && !loading && <ErrorNotice title="The list did not load" error={error} onRetry={() => { void refresh(); }} />}
      {people?.edges.length === 0 && (
        <EmptyState title={nobody} testId="nobody"><p>{meaning} You find the button on their profile.</p></EmptyState>
      )}
      {people != null && people.edges.length > 0 && <p className="muted">{meaning}</p>}
      {people != null && (
        <PeopleList label={title} people={people} nextPage={nextPage} action={(user) => <BoundaryButton user={user} boundary={boundary} />} />
      )}
    </>
  );
}
