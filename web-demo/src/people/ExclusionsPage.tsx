// Whom the viewer has muted, hides from, or has blocked: three lists, a click apart. Nobody else sees them.
import { useRead } from "../api/useRead";
import { BlockedDocument, HiddenDocument, MutedDocument } from "../api/exclusionDocuments";
import { EmptyState } from "../parts/EmptyState";
import { ErrorNotice } from "../parts/ErrorNotice";
import { PageHead } from "../parts/PageHead";
import { PeopleSkeletons } from "../parts/Skeletons";
import { EXCLUSIONS, exclusionsPath, type Exclusion } from "../routing";
import { PeopleList } from "./PeopleList";
import { type ExcludableUser, useExclusions } from "./useExclusions";

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

function ExclusionButton({ user, exclusion }: { user: ExcludableUser; exclusion: Exclusion }) {
  const { has, busy, refusal, toggle } = useExclusions(user);
  const { begin, end } = WORDS[exclusion];
  const label = has[exclusion] ? end : begin;
  return (
    <span className="follow">
      <button type="button" className="button quiet" aria-label={`${label} ${user.name}`} disabled={busy}
        onClick={() => { void toggle(exclusion); }} data-testid="toggle-exclusion">{label}</button>
      {refusal !== null && <span role="alert" className="field-error">{refusal}</span>}
    </span>
  );
}

export function ExclusionsPage({ exclusion }: { exclusion: Exclusion }) {
  const query = DOCUMENTS[exclusion];
  const { data, error, loading, nextPage, refresh } = useRead(query, {});
  const people = data?.viewer?.people;
  const { title, nobody, meaning } = WORDS[exclusion];

  return (
    <>
      <title>{`${title} · Tidefeed`}</title>
      <PageHead title="Whom you keep out"><span className="muted">Only you see them</span></PageHead>
      <nav className="tabs card" aria-label="Muted, hidden from and blocked">
        {EXCLUSIONS.map((other) => (
          <a key={other} href={exclusionsPath(other)} aria-current={other === exclusion ? "page" : undefined} data-testid={`tab-${other}`}>
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
        <PeopleList label={title} people={people} nextPage={nextPage} action={(user) => <ExclusionButton user={user} exclusion={exclusion} />} />
      )}
    </>
  );
}
