// What can be done with a post: reply, repost, like, bookmark, delete; each with how many have. How many have bookmarked it, its author alone is told. Shown as done at once, and taken back if it fails.
import type { Original } from "@tidefeed/client";
import { useSession } from "@tidefeed/react";
import { useState } from "react";
import { tidefeed } from "../api/tidefeed";
import { Icon, type IconName } from "../parts/Icon";
import { short } from "../parts/numbers";
import { threadPath } from "../routing";
import { replyTo } from "./replying";
import { useAction } from "./useAction";

interface ToggleProps {
  icon: IconName;
  name: string;
  count: number | null;
  pressed: boolean;
  onToggle: () => void;
}

const Count = ({ value }: { value: number | null }) => <span className="action-count">{value !== null && value > 0 ? short(value) : ""}</span>;
const labelOf = (name: string, count: number | null) => (count !== null && count > 0 ? `${name}: ${short(count)}` : name);

function Toggle({ icon, name, count, pressed, onToggle }: ToggleProps) {
  return (
    <button type="button" className={`action ${icon}`} aria-pressed={pressed} aria-label={labelOf(name, count)} title={name} onClick={onToggle} data-testid={icon}>
      <Icon name={icon} /><Count value={count} />
    </button>
  );
}

interface DeleteProps {
  refusal: string | null;
  onDelete: () => void;
  onKeep: () => void;
}

function DeleteQuestion({ refusal, onDelete, onKeep }: DeleteProps) {
  return (
    <span className="confirm" role="group" aria-label="Delete this post?">
      {refusal === null ? <span>Delete this post?</span> : <span role="alert" className="field-error">{refusal}</span>}
      <button type="button" className="button danger small" autoFocus onClick={onDelete} data-testid="delete-confirm">Delete</button>
      <button type="button" className="button quiet small" onClick={onKeep}>Keep</button>
    </span>
  );
}

/** Deletes one's own post, after asking. */
export function DeletePost({ contentId }: { contentId: string }) {
  const [asking, setAsking] = useState(false);
  const { refusal, run } = useAction();
  if (asking) {
    return <DeleteQuestion refusal={refusal} onDelete={() => { run(tidefeed.remove(contentId)); }} onKeep={() => { setAsking(false); }} />;
  }
  return (
    <button type="button" className="action bin" aria-label="Delete" title="Delete" onClick={() => { setAsking(true); }} data-testid="delete"><Icon name="bin" /></button>
  );
}

/** For who is not signed in: how many have. */
function CountRow({ post }: { post: Original }) {
  const { replyCount, repostCount, likeCount } = post;
  return (
    <div className="actions">
      <a className="action reply" href={threadPath(post.id)} aria-label={labelOf("Replies", replyCount)}><Icon name="reply" /><Count value={replyCount} /></a>
      <span className="action" title="Reposts"><Icon name="repost" /><Count value={repostCount} /></span>
      <span className="action" title="Likes"><Icon name="heart" /><Count value={likeCount} /></span>
    </div>
  );
}

export function ActionRow({ post }: { post: Original }) {
  const { signedIn } = useSession();
  const { refusal, run } = useAction();
  if (post.id.startsWith("draft:")) return <p className="post-note muted" role="status">Sending…</p>;
  if (!signedIn) return <CountRow post={post} />;
  const { id, subjectId, replyCount, repostCount, likeCount, bookmarkCount } = post;
  const [liked, bookmarked, reposted] = [post.viewerHasLiked === true, post.viewerHasBookmarked === true, post.viewerHasReposted === true];
  return (
    <>
      <div className="actions">
        <a className="action reply" href={threadPath(id)} aria-label={labelOf("Reply", replyCount)} title="Reply" data-testid="reply"
          onClick={(event) => {
            if (event.metaKey || event.ctrlKey || event.shiftKey) return;
            event.preventDefault();
            replyTo(id);
          }}><Icon name="reply" /><Count value={replyCount} /></a>
        <Toggle icon="repost" name={reposted ? "Undo repost" : "Repost"} count={repostCount} pressed={reposted}
          onToggle={() => { run(reposted ? tidefeed.unrepost(subjectId) : tidefeed.repost(subjectId)); }} />
        <Toggle icon="heart" name="Like" count={likeCount} pressed={liked} onToggle={() => { run(liked ? tidefeed.unlike(id) : tidefeed.like(id)); }} />
        <Toggle icon="bookmark" name="Bookmark" count={bookmarkCount} pressed={bookmarked}
          onToggle={() => { run(bookmarked ? tidefeed.unbookmark(id) : tidefeed.bookmark(id)); }} />
        {post.viewerIsAuthor && <DeletePost contentId={id} />}
      </div>
      {refusal !== null && <p role="alert" className="field-error">{refusal}</p>}
    </>
  );
}
