// A user: who they are, the follow button, and their own posts.
import { useApolloClient, useQuery } from "@apollo/client/react";
import { ProfileDocument } from "../api/documents";
import { readPage } from "../api/endlessConnection";
import { PostList } from "../content/PostList";
import { useNextPage } from "../content/useNextPage";
import { EmptyState } from "../parts/EmptyState";
import { ErrorNotice } from "../parts/ErrorNotice";
import { PostSkeletons } from "../parts/Skeletons";
import { timelinePath } from "../routing";
import { NoSuchUser } from "./NoSuchUser";
import { ProfileHeader } from "./ProfileHeader";

export function ProfilePage({ handle }: { handle: string }) {
  const client = useApolloClient();
  const { data, error, loading, refetch } = useQuery(ProfileDocument, { variables: { handle }, fetchPolicy: "cache-and-network", nextFetchPolicy: "cache-first" });
  const user = data?.user;
  const contents = user?.contents;
  const nextPage = useNextPage(contents?.pageInfo, (after) => readPage(client, ProfileDocument, { handle, after }));

  if (user == null && loading) return <PostSkeletons count={5} label="Loading the profile" />;
  if (user == null && error !== undefined) {
    return <ErrorNotice title="The profile did not load" error={error} onRetry={() => { void refetch(); }} />;
  }
  if (user == null) return <NoSuchUser handle={handle} />;
  const posts = (contents?.edges ?? []).flatMap(({ node }) => node ?? []);
  return (
    <>
      <title>{`${user.name} (@${user.handle}) · Tidefeed`}</title>
      <ProfileHeader user={user} />
      {contents == null && <ErrorNotice title="The posts did not load" error={error} onRetry={() => { void refetch(); }} />}
      {contents != null && posts.length === 0 && !nextPage.exists && (
        <EmptyState title={user.viewerHasBlocked === true ? "Nothing to see here" : "Nothing published yet"} testId="empty-profile">
          {user.isViewer && <p><a href={timelinePath}>Write your first post</a>: it will stand here and on your followers’ timelines.</p>}
          {!user.isViewer && user.viewerHasBlocked !== true && (
            <p>Follow <bdi>{user.name}</bdi>, and the first post will come to your timeline by itself.</p>
          )}
        </EmptyState>
      )}
      <PostList label={`Posts of ${user.name}`} posts={posts} nextPage={nextPage} />
    </>
  );
}
