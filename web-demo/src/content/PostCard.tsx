import type { PostFragment } from "../gql/graphql";
import { RelativeTime } from "../parts/RelativeTime";
import { Avatar } from "../people/Avatar";
import { profilePath } from "../routing";
import { DeletePost } from "./DeletePost";
import { MediaGallery } from "./MediaGallery";
import { PostCounters } from "./PostCounters";
import { Reactions } from "./Reactions";

interface PostCardProps {
  post: PostFragment;
  /** From 1, within what is loaded. */
  position: number;
  /** -1 while there is more than what is loaded. */
  total: number;
}

function AuthorLine({ author }: { author: PostFragment["author"] }) {
  if (author === null) return <strong className="muted">Author not available</strong>;
  return (
    <a className="post-author" href={profilePath(author.handle)} data-testid="post-author">
      <strong>{author.name}</strong> <span className="muted">@{author.handle}</span>
    </a>
  );
}

export function PostCard({ post, position, total }: PostCardProps) {
  const { author } = post;
  const by = `post-${post.id}`;
  return (
    <article className="post" tabIndex={0} aria-posinset={position} aria-setsize={total} aria-labelledby={by} data-testid="post">
      {author === null
        ? <Avatar handle="?" name="?" avatarUrl={null} />
        : <a href={profilePath(author.handle)} tabIndex={-1} aria-hidden="true"><Avatar {...author} /></a>}
      <div className="post-body">
        <header className="post-head" id={by}>
          <AuthorLine author={author} />
          <span className="muted post-time"><RelativeTime iso={post.publishTime} /></span>
        </header>
        {post.text !== "" && <p className="post-text" data-testid="post-text">{post.text}</p>}
        <MediaGallery media={post.media} />
        <footer className="post-foot">
          <Reactions post={post} />
          <PostCounters counters={post.counters} />
          {post.viewerIsAuthor && <DeletePost contentId={post.id} authorId={author?.id} />}
        </footer>
      </div>
    </article>
  );
}
