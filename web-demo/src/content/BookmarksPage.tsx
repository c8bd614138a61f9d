// What the viewer keeps, the post kept last first. Nobody else sees it.
import { useRead } from "../api/useRead";
import { BookmarksDocument } from "../api/listDocuments";
import { EmptyState } from "../parts/EmptyState";
import { ErrorNotice } from "../parts/ErrorNotice";
import { PageHead } from "../parts/PageHead";
import { PostSkeletons } from "../parts/Skeletons";
import { timelinePath } from "../routing";
import { PostList } from "./PostList";

export function BookmarksPage() {
  const { data, error, loading, nextPage, refresh } = useRead(BookmarksDocument, {});
  const bookmarks = data?.viewer?.bookmarks;
  const posts = (bookmarks?.edges ?? []).flatMap(({ node }) => node ?? []);
  return (
    <>
      <title>Bookmarks · Tidefeed</title>
      <PageHead title="Bookmarks"><span className="muted">Only you see them</span></PageHead>
      {bookmarks == null && loading && <PostSkeletons count={4} label="Loading your bookmarks" />}
      {bookmarks == null && !loading && <ErrorNotice title="Your bookmarks did not load" error={error} onRetry={() => { void refresh(); }} />}
      {bookmarks != null && posts.length === 0 && !nextPage.exists && (
        <EmptyState title="Nothing kept yet" testId="no-bookmarks">
          <p>Press the bookmark below a post <a href={timelinePath}>on your timeline</a>, and you find it here again.</p>
        </EmptyState>
      )}
      <PostList label="Your bookmarks" posts={posts} nextPage={nextPage} end="That is everything you have kept." />
    </>
  );
}
