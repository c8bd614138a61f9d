// Who and what was found: some people, then the posts, newest first. A page of the server's may be empty and still go on: the list reads on by itself.
import { useRead } from "../api/useRead";
import { PostList } from "../content/PostList";
import { EmptyState } from "../parts/EmptyState";
import { ErrorNotice } from "../parts/ErrorNotice";
import { PostSkeletons } from "../parts/Skeletons";
import { FoundPeople } from "../people/FoundPeople";
import { SearchDocument } from "./documents";

export function SearchPage({ text }: { text: string }) {
  const { data, error, loading, nextPage, refresh } = useRead(SearchDocument, { text });
  const found = data?.search;
  const posts = (found?.edges ?? []).flatMap(({ node }) => node ?? []);

  return (
    <>
      <title>{`${text} · Search · Tidefeed`}</title>
      <div className="page-head"><h1 className="searched" data-testid="searched">Results for “{text}”</h1></div>
      <FoundPeople key={text} text={text} />
      {found == null && loading && <PostSkeletons count={5} label="Searching" />}
      {found == null && !loading && <ErrorNotice title="Nothing could be looked for" error={error} onRetry={() => { void refresh(); }} />}
      {found != null && posts.length === 0 && !nextPage.exists && (
        <EmptyState title="No posts found" testId="nothing-found">
          <p>Posts are found by whole words, and Chinese, Japanese or Korean by any stretch of it. Try fewer words.</p>
        </EmptyState>
      )}
      {found != null && <PostList label="Posts found" posts={posts} nextPage={nextPage} end="That is all." />}
    </>
  );
}
