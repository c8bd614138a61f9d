// What was found, newest first. A page of the server's may be empty and still go on: the list reads on by itself.
import { useApolloClient, useQuery } from "@apollo/client/react";
import { readPage } from "../api/endlessConnection";
import { PostList } from "../content/PostList";
import { useNextPage } from "../content/useNextPage";
import { EmptyState } from "../parts/EmptyState";
import { ErrorNotice } from "../parts/ErrorNotice";
import { PostSkeletons } from "../parts/Skeletons";
import { SearchDocument } from "./documents";

export function SearchPage({ text }: { text: string }) {
  const client = useApolloClient();
  const { data, error, loading, refetch } = useQuery(SearchDocument, { variables: { text }, fetchPolicy: "cache-and-network", nextFetchPolicy: "cache-first" });
  const found = data?.search;
  const nextPage = useNextPage(found?.pageInfo, (after) => readPage(client, SearchDocument, { text, after }));
  const posts = (found?.edges ?? []).flatMap(({ node }) => node ?? []);

  return (
    <>
      <title>{`${text} · Search · Tidefeed`}</title>
      <div className="page-head"><h1 className="searched" data-testid="searched">Posts with “{text}”</h1></div>
      {found == null && loading && <PostSkeletons count={5} label="Searching" />}
      {found == null && !loading && <ErrorNotice title="Nothing could be looked for" error={error} onRetry={() => { void refetch(); }} />}
      {found != null && posts.length === 0 && !nextPage.exists && (
        <EmptyState title="Nothing found" testId="nothing-found">
          <p>Posts are found by whole words, and Chinese, Japanese or Korean by any stretch of it. Try fewer words.</p>
        </EmptyState>
      )}
      {found != null && <PostList label="Posts found" posts={posts} nextPage={nextPage} end="That is all." />}
    </>
  );
}
