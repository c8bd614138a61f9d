// People as a list, endless: the next page is read before the reader gets to the end.
import type { ReactNode } from "react";
import type { NextPage } from "../api/useRead";
import { PageSentinel } from "../content/PageSentinel";
import type { PersonFragment } from "../gql/graphql";
import { ErrorNotice } from "../parts/ErrorNotice";
import { profilePath } from "../routing";
import { Avatar } from "./Avatar";
import { FollowButton } from "./FollowButton";
import { PeopleSkeletons } from "../parts/Skeletons";

/** `action`: what can be done about them; following, unless it says otherwise. */
export function PersonRow({ person, action = follow(person) }: { person: PersonFragment; action?: ReactNode }) {
  return (
    <li className="person-row" data-testid="person">
      <a className="person" href={profilePath(person.handle)}>
        <Avatar {...person} />
        <span>
          <strong><bdi>{person.name}</bdi></strong>
          <small>@{person.handle}</small>
        </span>
      </a>
      {person.isViewer ? <span className="tag">This is you</span> : action}
      {person.bio !== "" && <p className="person-bio" dir="auto">{person.bio}</p>}
    </li>
  );
}

interface PeopleListProps<Person extends PersonFragment> {
  label: string;
  people: { edges: { node: Person | null }[] };
  nextPage: NextPage;
  /** What can be done about each but the viewer; following them, unless it says otherwise. */
  action?: (person: Person) => ReactNode;
}

function follow(person: PersonFragment): ReactNode {
  return <FollowButton user={person} />;
}

/** Nothing if there is nobody: the page says why. */
export function PeopleList<Person extends PersonFragment>({ label, people, nextPage, action = follow }: PeopleListProps<Person>) {
  const shown = people.edges.flatMap(({ node }) => node ?? []);
  return (
    <>
      {shown.length > 0 && (
        <ul className="feed people" aria-label={label} aria-busy={nextPage.loading} data-testid="people">
          {shown.map((person) => <PersonRow key={person.id} person={person} action={action(person)} />)}
        </ul>
      )}
      {nextPage.exists && nextPage.error === null && (
        <PageSentinel key={nextPage.after} onReach={() => { void nextPage.load(); }}>
          <PeopleSkeletons count={2} label="Loading more people" />
        </PageSentinel>
      )}
      {nextPage.error !== null && (
        <ErrorNotice title="The next people did not load" error={nextPage.error} onRetry={() => { void nextPage.load(); }} />
      )}
      {!nextPage.exists && shown.length > 0 && <p className="end muted" data-testid="people-end">That is everybody.</p>}
    </>
  );
}
