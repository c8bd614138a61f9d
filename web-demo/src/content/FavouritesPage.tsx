// What the viewer keeps, the post kept last first. Nobody else sees it.
import { useRead } from "../api/useRead";
import { FavouritesDocument } from "../api/listDocuments";
import { EmptyState } from "../parts/EmptyState";
import { ErrorNotice } from "../parts/ErrorNotice";
import { PageHead } from "../parts/PageHead";
import { PostSkeletons } from "../parts/Skeletons";
import { timelinePath } from "../routing";
import { PostList } from "./PostList";

export function FavouritesPage() {
  const { data, error, loading, nextPage, refresh } = useRead(FavouritesDocument, {});
  const favourites = data?.viewer?.favourites;
  const posts = (favourites?.edges ?? []).flatMap(({ node }) => node ?? []);
  return (
    <>
      <title>Favourites · Tidefeed</title>
      <PageHead title="Favourites"><span className="muted">Only you see them</span></PageHead>
      {favourites == null && loading && <PostSkeletons count={4} label="Loading your favourites" />}
      {favourites == null && !loading && <ErrorNotice title="Your favourites did not load" error={error} onRetry={() => { void refresh(); }} />}
      {favourites != null && posts.length === 0 && !nextPage.exists && (
        <EmptyState title="Nothing kept yet" testId="no-favourites">
          <p>Press the bookmark below a post <a href={timelinePath}>on your timeline</a>, and you find it here again.</p>
        </EmptyState>
      )}
      <PostList label="Your favourites" posts={posts} nextPage={nextPage} end="That is everything you have kept." />
    </>
  );
}
