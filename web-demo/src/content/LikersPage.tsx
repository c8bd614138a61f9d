// A post, and who likes it.
import { useRead } from "../api/useRead";
import { LikersDocument } from "../api/listDocuments";
import { EmptyState } from "../parts/EmptyState";
import { ErrorNotice } from "../parts/ErrorNotice";
import { PageHead } from "../parts/PageHead";
import { PeopleList } from "../people/PeopleList";
import { PeopleSkeletons } from "../parts/Skeletons";
import { NoSuchPost } from "./NoSuchPost";
import { MainPost } from "./PostCard";

export function LikersPage({ id }: { id: string }) {
  const { data, error, loading, nextPage, refresh } = useRead(LikersDocument, { id }, {
    outdatedBy: ({ content }) => content?.id === id, // The viewer is among them now, or no longer.
  });
  const post = data?.content;
  const people = post?.likers;

  if (data !== null && post == null) return <NoSuchPost />;
  return (
    <>
      <title>Likes · Tidefeed</title>
      <PageHead title="Likes" back />
      {post != null && (
        <div className="feed">
          <MainPost post={post.repostOf ?? post} testId="liked-post" />
        </div>
      )}
      {people == null && loading && <PeopleSkeletons count={4} label="Loading people" />}
      {people == null && !loading && <ErrorNotice title="The list did not load" error={error} onRetry={() => { void refresh(); }} />}
      {people?.edges.length === 0 && (
        <EmptyState title="No likes yet" testId="nobody"><p>Press the heart below the post to be the first.</p></EmptyState>
      )}
      {people != null && <PeopleList label="Who likes this post" people={people} nextPage={nextPage} />}
    </>
  );
}
