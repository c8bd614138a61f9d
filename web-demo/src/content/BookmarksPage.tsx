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
      <PageHead title="Bookmarks"><span className="muted">Only you see this</span></PageHead>
      {bookmarks == null && loading && <PostSkeletons count={4} label="Loading your bookmarks" />}
      {bookmarks == null && !loading && <ErrorNotice title="Your bookmarks did not load" error={error} onRetry={() => { void refresh(); }} />}
      {bookmarks != null && posts.length === 0 && !nextPage.exists && (
        <EmptyState title="No bookmarks yet" testId="no-bookmarks">
          <p>Press the bookmark below a post <a href={timelinePath}>on your timeline</a> to find it here later.</p>
        </EmptyState>
      )}
      <PostList label="Your bookmarks" posts={posts} nextPage={nextPage} end="These are all your bookmarks." />
    </>
  );
}
