// What can be done with a post: reply, repost, like and bookmark, each with how many have, and what the menu has. The same five columns below every post. How many have bookmarked it, its author alone is told. Shown as done at once, and taken back if it fails.
import type { Original } from "@tidefeed/client";
import { useSession } from "@tidefeed/react";
import { useState } from "react";
import { tidefeed } from "../api/tidefeed";
import { Icon, type IconName } from "../parts/Icon";
import { Menu, type MenuItem } from "../parts/Menu";
import { short } from "../parts/numbers";
import { Question } from "../parts/Question";
import { sharingItems } from "../parts/sharing";
import { useExclusionMenu } from "../people/Exclusions";
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

/** What else can be done: to pass the post on, to see less of its author, or to delete one's own, which asks first. */
function usePostMenu({ id, author, viewerIsAuthor, text }: Original) {
  const [isDeleting, setIsDeleting] = useState(false);
  const { refusal, run } = useAction();
  const { items, question } = useExclusionMenu(author ?? { id: "", handle: "", name: "" }, true);
  const others = (): MenuItem[] => {
    if (viewerIsAuthor) return [{ name: "Delete", icon: "bin", testId: "delete", isDangerous: true, act: () => { setIsDeleting(true); } }];
    return author === null ? [] : items();
  };
  const asked = isDeleting ? <DeleteQuestion refusal={refusal} onDelete={() => { run(tidefeed.remove(id)); }} onCancel={() => { setIsDeleting(false); }} /> : question;
  const menu = <Menu label="More about this post" items={() => [...sharingItems(threadPath(id), text.slice(0, 80)), ...others()]} />;
  return { menu, asked };
}

interface DeleteQuestionProps { refusal: string | null; onDelete: () => void; onCancel: () => void }

function DeleteQuestion({ refusal, onDelete, onCancel }: DeleteQuestionProps) {
  return <Question label="Delete this post?" answer="Delete" testId="delete-confirm" refusal={refusal} onAnswer={onDelete} onCancel={onCancel}>Delete this post?</Question>;
}

/** Deletes one's own repost of what has gone, after asking. */
export function DeletePost({ contentId }: { contentId: string }) {
  const [asking, setAsking] = useState(false);
  const { refusal, run } = useAction();
  if (asking) return <DeleteQuestion refusal={refusal} onDelete={() => { run(tidefeed.remove(contentId)); }} onCancel={() => { setAsking(false); }} />;
  return <button type="button" className="link" onClick={() => { setAsking(true); }} data-testid="delete">Delete your repost</button>;
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
  const { menu, asked } = usePostMenu(post);
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
        {menu}
      </div>
      {asked}
      {refusal !== null && <p role="alert" className="field-error">{refusal}</p>}
    </>
  );
}
