// Posts newest first, endless: the next page is read before the reader gets to the end.
import type { Content } from "@tidefeed/client";
import { Fragment, type KeyboardEvent } from "react";
import type { NextPage } from "../api/useRead";
import { ErrorNotice } from "../parts/ErrorNotice";
import { PostSkeletons } from "../parts/Skeletons";
import { PageSentinel } from "./PageSentinel";
import { PostCard } from "./PostCard";

interface PostListProps {
  label: string;
  posts: readonly Content[];
  nextPage: NextPage;
  /** What is said where the list ends. */
  end?: string;
  /** The first post that the reader had seen before; a line is drawn above it, unless it is the first of all. */
  readFrom?: string | undefined;
}

/** PageDown and PageUp go from post to post, as in every ARIA feed. */
function moveBetweenPosts(event: KeyboardEvent<HTMLElement>) {
  if (event.key !== "PageDown" && event.key !== "PageUp") return;
  const post = event.target instanceof Element ? event.target.closest("article") : null;
  const sibling = (element: Element | null | undefined) => event.key === "PageDown" ? element?.nextElementSibling : element?.previousElementSibling;
  let next = sibling(post);
  if (next?.matches(".read-up-to") === true) next = sibling(next);
  if (!(next instanceof HTMLElement)) return;
  event.preventDefault();
  next.focus();
}

export function PostList({ label, posts, nextPage, readFrom, end = "You have reached the beginning." }: PostListProps) {
  return (
    <>
      <div role="feed" className="feed" aria-label={label} aria-busy={nextPage.loading} onKeyDown={moveBetweenPosts} data-testid="feed">
        {posts.map((post, index) => (
          <Fragment key={post.id}>
            {index > 0 && post.id === readFrom && <p className="read-up-to" data-testid="read-up-to">New posts are above. You have read everything below.</p>}
            <PostCard post={post} position={index + 1} total={nextPage.exists ? -1 : posts.length} />
          </Fragment>
        ))}
      </div>
      {nextPage.exists && nextPage.error === null && (
        <PageSentinel key={nextPage.after} onReach={() => { void nextPage.load(); }}>
          <PostSkeletons count={2} label="Loading more posts" />
        </PageSentinel>
      )}
      {nextPage.error !== null && (
        <ErrorNotice title="The next posts did not load" error={nextPage.error} onRetry={() => { void nextPage.load(); }} />
      )}
      {!nextPage.exists && posts.length > 0 && <p className="end muted" data-testid="feed-end">{end}</p>}
    </>
  );
}
