// A post, and who likes it.
import { useApolloClient, useQuery } from "@apollo/client/react";
import { readPage } from "../api/endlessConnection";
import { LikersDocument } from "../api/listDocuments";
import { EmptyState } from "../parts/EmptyState";
import { ErrorNotice } from "../parts/ErrorNotice";
import { PageHead } from "../parts/PageHead";
import { PeopleList } from "../people/PeopleList";
import { PeopleSkeletons } from "../parts/Skeletons";
import { NoSuchPost } from "./NoSuchPost";
import { CardBody } from "./PostCard";
import { useNextPage } from "./useNextPage";

export function LikersPage({ id }: { id: string }) {
  const client = useApolloClient();
  const { data, error, loading, refetch } = useQuery(LikersDocument, {
    variables: { id }, fetchPolicy: "cache-and-network", nextFetchPolicy: "cache-first",
  });
  const post = data?.content;
  const people = post?.likers;
  const nextPage = useNextPage(people?.pageInfo, (after) => readPage(client, LikersDocument, { id, after }));

  if (post === null) return <NoSuchPost />;
  return (
    <>
      <title>Likes · Tidefeed</title>
      <PageHead title="Likes" />
      {post !== undefined && (
        <div className="feed">
          <article className="post" data-testid="liked-post"><CardBody post={post.repostOf ?? post} /></article>
        </div>
      )}
      {people == null && loading && <PeopleSkeletons count={4} label="Loading people" />}
      {people == null && !loading && <ErrorNotice title="The list did not load" error={error} onRetry={() => { void refetch(); }} />}
      {people?.edges.length === 0 && (
        <EmptyState title="No likes yet" testId="nobody"><p>Press the heart below a post, and you stand here.</p></EmptyState>
      )}
      {people != null && <PeopleList label="Who likes this post" people={people} nextPage={nextPage} />}
    </>
  );
}
