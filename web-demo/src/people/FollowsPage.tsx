// Who follows a user, and whom they follow: two lists, a click apart.
import { useRead } from "../api/useRead";
import { FollowersDocument, FollowingDocument } from "../api/listDocuments";
import type { FollowersQuery } from "../gql/graphql";
import { EmptyState } from "../parts/EmptyState";
import { ErrorNotice } from "../parts/ErrorNotice";
import { PageHead } from "../parts/PageHead";
import { explorePath, type FollowSide, followsPath, profilePath, timelinePath } from "../routing";
import { NoSuchUser } from "./NoSuchUser";
import { PeopleList } from "./PeopleList";
import { PeopleSkeletons } from "../parts/Skeletons";

type User = NonNullable<FollowersQuery["user"]>;

const DOCUMENTS = { followers: FollowersDocument, following: FollowingDocument } as const;
const TITLES = { followers: "Followers", following: "Following" } as const;

interface FollowsPageProps {
  handle: string;
  side: FollowSide;
}

function Nobody({ user, side }: { user: User; side: FollowSide }) {
  return (
    <EmptyState title={side === "followers" ? "No followers yet" : "Not following anyone yet"} testId="nobody">
      {side === "followers" && (user.isViewer
        ? <p>People who follow you show up here. <a href={timelinePath}>Write a post</a> to be found.</p>
        : <p>Be the first: <a href={profilePath(user.handle)}>follow <bdi>{user.name}</bdi></a>.</p>)}
      {side === "following" && (user.isViewer
        ? <p><a href={explorePath}>Explore</a> whom to follow, or search for someone by name.</p>
        : <p>People whom <bdi>{user.name}</bdi> follows show up here.</p>)}
    </EmptyState>
  );
}

export function FollowsPage({ handle, side }: FollowsPageProps) {
  const query = DOCUMENTS[side];
  const { data, error, loading, nextPage, refresh } = useRead(query, { handle }, { outdatedBy: ({ user }) => user?.handle === handle });
  const user = data?.user;
  const people = user?.people;

  if (data !== null && user == null) return <NoSuchUser handle={handle} />;
  const title = user == null ? TITLES[side] : side === "followers" ? `Followers of ${user.name}` : `Followed by ${user.name}`;
  return (
    <>
      <title>{`${title} · Tidefeed`}</title>
      <PageHead title={user?.name ?? `@${handle}`}>
        <a href={profilePath(handle)} data-testid="back-to-profile">@{handle}</a>
      </PageHead>
      <nav className="tabs card" aria-label="Followers and following">
        {(["followers", "following"] as const).map((other) => (
          <a key={other} href={followsPath(handle, other)} aria-current={other === side ? "page" : undefined} data-testid={`tab-${other}`}>
            {TITLES[other]}
          </a>
        ))}
      </nav>
      {people == null && loading && <PeopleSkeletons count={6} label="Loading people" />}
      {people == null && !loading && <ErrorNotice title="The list did not load" error={error} onRetry={() => { void refresh(); }} />}
      {user != null && people?.edges.length === 0 && <Nobody user={user} side={side} />}
      {people != null && <PeopleList label={title} people={people} nextPage={nextPage} />}
    </>
  );
}
