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
    title: "Muted", begin: "Mute", end: "Unmute", nobody: "You have not muted anyone",
    meaning: "You don’t see the posts of people you mute in your timeline. They are not told.",
  },
  hide: {
    title: "Hidden", begin: "Hide", end: "Unhide", nobody: "You are not hiding from anyone",
    meaning: "People you hide from don’t get your posts in their timeline. Your profile stays public, and they are not told.",
  },
  block: {
    title: "Blocked", begin: "Block", end: "Unblock", nobody: "You have not blocked anyone",
    meaning: "You and people you block don’t follow each other, and don’t see each other’s posts.",
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
      <PageHead title="Muted and blocked"><span className="muted">Only you see this</span></PageHead>
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
        <EmptyState title={nobody} testId="nobody"><p>{meaning} You can do so in the menu of their profile or of a post.</p></EmptyState>
      )}
      {people != null && people.edges.length > 0 && <p className="muted">{meaning}</p>}
      {people != null && (
        <PeopleList label={title} people={people} nextPage={nextPage} action={(user) => <ExclusionButton user={user} exclusion={exclusion} />} />
      )}
    </>
  );
}
