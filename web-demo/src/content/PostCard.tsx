import type { CardFragment, PostFragment } from "../gql/graphql";
import { Icon } from "../parts/Icon";
import { RelativeTime } from "../parts/RelativeTime";
import { Avatar } from "../people/Avatar";
import { profilePath, threadPath } from "../routing";
import { DeletePost } from "./DeletePost";
import { MediaGallery } from "./MediaGallery";
import { PostCounters } from "./PostCounters";
import { RepostButton } from "./RepostButton";
import { Reactions } from "./Reactions";

interface PostCardProps {
  post: PostFragment;
  /** From 1, within what is loaded. */
  position: number;
  /** -1 while there is more than what is loaded. */
  total: number;
}

function AuthorLine({ author }: { author: CardFragment["author"] }) {
  if (author === null) return <strong className="muted">Author not available</strong>;
  return (
    <a className="post-author" href={profilePath(author.handle)} data-testid="post-author">
      <strong><bdi>{author.name}</bdi></strong> <span className="muted">@{author.handle}</span>
    </a>
  );
}

function InReplyTo({ post }: { post: CardFragment }) {
  if (post.kind !== "REPLY") return null;
  const { inReplyTo: other } = post;
  if (other === null) return <p className="post-note muted">In reply to a post that is not available</p>;
  return (
    <p className="post-note muted" data-testid="in-reply-to">
      In reply to <a href={threadPath(other.id)}>{other.author === null ? "a post" : `@${other.author.handle}`}</a>
    </p>
  );
}

/** A content itself, whoever has brought it here. */
export function CardBody({ post, headId }: { post: CardFragment; headId?: string }) {
  const { author } = post;
  return (
    <>
      {author === null
        ? <Avatar handle="?" name="?" avatarUrl={null} />
        : <a href={profilePath(author.handle)} tabIndex={-1} aria-hidden="true"><Avatar {...author} /></a>}
      <div className="post-body">
        <header className="post-head" id={headId}>
          <AuthorLine author={author} />
          <a className="muted post-time" href={threadPath(post.id)} data-testid="post-time"><RelativeTime iso={post.publishTime} /></a>
        </header>
        <InReplyTo post={post} />
        {post.text !== "" && <p className="post-text" dir="auto" data-testid="post-text">{post.text}</p>}
        <MediaGallery media={post.media} />
        <footer className="post-foot">
          <Reactions post={post} />
          <PostCounters post={post} />
          <span className="post-actions">
            <a className="post-action" href={threadPath(post.id)} data-testid="reply"><Icon name="reply" /> Reply</a>
            <RepostButton post={post} />
            {post.viewerIsAuthor && <DeletePost contentId={post.id} authorId={author?.id} />}
          </span>
        </footer>
      </div>
    </>
  );
}

/** The original has gone; what is left is who has shown it. */
function GoneBody({ post }: { post: CardFragment }) {
  return (
    <div className="post-body gone">
      <p className="muted" data-testid="original-gone">The post is not available any more.</p>
      {post.viewerIsAuthor && <footer className="post-foot"><DeletePost contentId={post.id} authorId={post.author?.id} /></footer>}
    </div>
  );
}

export function PostCard({ post, position, total }: PostCardProps) {
  const by = `post-${post.id}`;
  const isRepost = post.kind === "REPOST";
  const shown = isRepost ? post.repostOf : post;
  return (
    <article className="post" tabIndex={0} aria-posinset={position} aria-setsize={total} aria-labelledby={by} data-testid="post">
      {isRepost && (
        <p className="repost-line muted" data-testid="repost-line" id={shown === null ? by : undefined}>
          <Icon name="repost" /> {post.viewerIsAuthor ? "You" : <bdi>{post.author?.name ?? "Somebody"}</bdi>} reposted
        </p>
      )}
      {shown === null ? <GoneBody post={post} /> : <CardBody post={shown} headId={by} />}
    </article>
  );
}
