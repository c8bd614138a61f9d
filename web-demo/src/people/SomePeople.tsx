// People to follow: whom those follow whom the viewer follows, then the most followed.
import { SuggestedPeopleDocument } from "../api/listDocuments";
import { useRead } from "../api/useRead";
import { PersonRow } from "./PeopleList";

/** `isStrip`: in one row, above what is read. */
export function SomePeople({ isStrip = false }: { isStrip?: boolean }) {
  const { data } = useRead(SuggestedPeopleDocument, {});
  const people = data?.suggestedUsers ?? [];
  if (people.length === 0) return null;
  return (
    <section aria-labelledby="some-people" className="some-people">
      <h2 id="some-people">People to follow</h2>
      <ul className={isStrip ? "card people strip" : "feed people"} data-testid="some-people">{people.map((person) => <PersonRow key={person.id} person={person} />)}</ul>
    </section>
  );
}
