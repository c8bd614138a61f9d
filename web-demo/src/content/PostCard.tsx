import type { Content, Original } from "@tidefeed/client";
import { memo, type MouseEvent, useEffect } from "react";
import { Icon } from "../parts/Icon";
import { counted } from "../parts/numbers";
import { exactTime, RelativeTime, useAgeInWords } from "../parts/RelativeTime";
import { Avatar } from "../people/Avatar";
import { likersPath, navigate, profilePath, threadPath } from "../routing";
import { ActionRow, DeletePost } from "./ActionRow";
import { MediaGrid } from "./MediaGrid";
import { remember } from "./remembered";
import { RichText } from "./RichText";

interface PostCardProps {
  post: Content;
  /** From 1, within what is loaded. */
  position: number;
  /** -1 while there is more than what is loaded. */
  total: number;
  /** Within a thread: above the post that the page is about. */
  place?: "above";
}

function AuthorLine({ author }: { author: Original["author"] }) {
  if (author === null) return <strong className="muted">Author not available</strong>;
  return (
    <a className="post-author" href={profilePath(author.handle)} data-testid="post-author">
      <strong><bdi>{author.name}</bdi></strong> <span className="muted">@{author.handle}</span>
    </a>
  );
}

function InReplyTo({ post }: { post: Original }) {
  if (post.kind !== "REPLY") return null;
  const { inReplyTo: other } = post;
  if (other === null) return <p className="post-note muted">In reply to a post that is not available</p>;
  return (
    <p className="post-note muted" data-testid="in-reply-to">
      In reply to <a href={threadPath(other.id)}>{other.author === null ? "a post" : `@${other.author.handle}`}</a>
    </p>
  );
}

/** In full, for the post that a page is about: when it was published, and who likes it. */
function Statistics({ post: { id, replyCount, repostCount, likeCount, createdAt } }: { post: Original }) {
  const [likes, replies, reposts] = [likeCount ?? 0, replyCount ?? 0, repostCount ?? 0];
  return (
    <p className="post-statistics muted">
      <time dateTime={createdAt}>{exactTime(createdAt)}</time>
      {replies > 0 && <span>{counted(replies, "reply", "replies")}</span>}
      {reposts > 0 && <span>{counted(reposts, "repost", "reposts")}</span>}
      {likes > 0 && <a href={likersPath(id)} data-testid="like-count">{counted(likes, "like", "likes")}</a>}
    </p>
  );
}

function PostTime({ post: { id, createdAt } }: { post: Original }) {
  const age = useAgeInWords(createdAt);
  return (
    <a className="muted post-time" href={threadPath(id)} data-testid="post-time">
      <span aria-hidden="true"><RelativeTime iso={createdAt} /></span><span className="unseen">{age}</span>
    </a>
  );
}

/** By what a post is announced: who, when, and what. */
const namedBy = (by: string, shown: Original | null) => (shown === null || shown.text === "" ? by : `${by} ${by}-text`);

interface CardBodyProps {
  post: Original;
  headId?: string;
  /** Whether the page is about it. */
  isMain?: boolean;
}

/** A content itself, whoever has brought it here. */
function CardBody({ post, headId, isMain = false }: CardBodyProps) {
  const { author } = post;
  useEffect(() => { remember(post); }, [post]);
  return (
    <>
      {author === null
        ? <Avatar id="" avatarUrl={null} />
        : <a className="post-face" href={profilePath(author.handle)} tabIndex={-1} aria-hidden="true"><Avatar {...author} /></a>}
      <div className="post-body">
        <header className="post-head" id={headId}>
          <AuthorLine author={author} />
          <PostTime post={post} />
        </header>
        <InReplyTo post={post} />
        {post.text !== "" && <RichText id={headId && `${headId}-text`} text={post.text} whole={isMain} />}
        <MediaGrid media={post.media} />
        {isMain && <Statistics post={post} />}
        <ActionRow post={post} />
      </div>
    </>
  );
}

/** The original has gone; what is left is who has shown it. */
function GoneBody({ post }: { post: Content }) {
  return (
    <div className="post-body gone">
      <p className="muted" data-testid="original-gone">The post is not available any more.</p>
      {post.viewerIsAuthor && <DeletePost contentId={post.id} />}
    </div>
  );
}

/** A click on what does nothing itself leads to the thread; marking some words does not. */
function openThread(event: MouseEvent<HTMLElement>, id: string) {
  const isOther = event.target instanceof Element && event.target.closest("a, button, input, textarea, video, dialog, .confirm, .menu") !== null;
  if (isOther || event.button !== 0 || id.startsWith("draft:") || window.getSelection()?.isCollapsed === false) return;
  if (event.metaKey || event.ctrlKey) window.open(threadPath(id));
  else navigate(threadPath(id));
}

/** The post that a page is about. */
export function MainPost({ post, testId }: { post: Original; testId: string }) {
  const by = `main-${post.id}`;
  return (
    <article className="post main" tabIndex={0} aria-labelledby={namedBy(by, post)} data-content={post.id} data-testid={testId}>
      <CardBody post={post} headId={by} isMain />
    </article>
  );
}

export const PostCard = memo(function PostCard({ post, position, total, place }: PostCardProps) {
  const by = `post-${post.id}`;
  const isRepost = post.kind === "REPOST";
  const shown = isRepost ? post.repostOf : post;
  return (
    <article className={place === undefined ? "post" : `post ${place}`} tabIndex={0} aria-posinset={position} aria-setsize={total} 
      aria-labelledby={isRepost && shown !== null ? `${by}-repost ${namedBy(by, shown)}` : namedBy(by, shown)}
      data-testid={place === undefined ? "post" : "post-above"}
      data-content={shown?.id} onClick={(event) => { if (shown !== null) openThread(event, shown.id); }}>
      {isRepost && (
        <p className="repost-line muted" data-testid="repost-line" id={shown === null ? by : `${by}-repost`}>
          <Icon name="repost" />
          <span>{post.viewerIsAuthor || post.author === null
            ? post.viewerIsAuthor ? "You" : "Somebody"
            : <a href={profilePath(post.author.handle)}><bdi>{post.author.name}</bdi></a>} reposted</span>
          <RelativeTime iso={post.createdAt} />
        </p>
      )}
      {shown === null ? <GoneBody post={post} /> : <CardBody post={shown} headId={by} />}
    </article>
  );
});
