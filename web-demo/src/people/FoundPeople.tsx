// Whom a name or a handle finds: some, and more when asked for.
import { FoundPeopleDocument } from "../api/listDocuments";
import { useRead } from "../api/useRead";
import { describeFailure } from "../api/userErrors";
import { PersonRow } from "./PeopleList";

const MOST_CHARS = 60;
const FEW = 3;

interface FoundPeopleProps {
  text: string;
  /** What to say when there is nobody; nothing unless it is given. */
  nobody?: string;
}

export function FoundPeople({ text, nobody }: FoundPeopleProps) {
  const { data, error, loading, nextPage } = useRead(FoundPeopleDocument, { text: Array.from(text).slice(0, MOST_CHARS).join(""), first: FEW });
  const people = (data?.searchUsers?.edges ?? []).flatMap(({ node }) => node ?? []);
  const more = nextPage.exists && (
    <button type="button" className="link more-people" disabled={nextPage.loading} onClick={() => { void nextPage.load(); }} data-testid="more-people">More people</button>
  );
  if (people.length > 0) {
    return (
      <section aria-label="People found" className="found-people">
        <ul className="feed people" data-testid="found-people">{people.map((person) => <PersonRow key={person.id} person={person} />)}</ul>
        {more}
        {nextPage.error !== null && <p className="field-error">{describeFailure(nextPage.error)}</p>}
      </section>
    );
  }
  if (loading || nobody === undefined) return null;
  return <p className="field-error" data-testid="not-found">{error === null ? nobody : describeFailure(error)}</p>;
}
