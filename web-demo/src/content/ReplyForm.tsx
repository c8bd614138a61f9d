// A reply that is being written, below the post that it answers.
import { useViewer } from "@tidefeed/react";
import { type SubmitEvent, useEffect, useId } from "react";
import { Avatar } from "../people/Avatar";
import { useDraft } from "../timeline/drafts";
import { WritingField } from "../timeline/WritingField";
import { isReplyWanted } from "./replying";

/** `to`: whose post it is. */
export function ReplyForm({ contentId, to }: { contentId: string; to: string | undefined }) {
  const id = useId();
  const { text, problem, isSending, publish, setText } = useDraft(`reply.${contentId}`);
  const viewer = useViewer().value;
  const canSend = !isSending && text.trim() !== "";
  useEffect(() => { if (isReplyWanted(contentId)) document.getElementById(id)?.focus(); }, [contentId, id]);

  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    if (canSend) void publish(contentId);
  }

  const words = to === undefined ? "Write a reply" : `Reply to @${to}`;
  const refusal = problem?.failure ?? problem?.errors[0]?.message;
  return (
    <form className="composer card reply-form" data-to={contentId} onSubmit={onSubmit} data-testid="reply-form">
      {viewer !== null && <Avatar {...viewer} />}
      <label htmlFor={id} className="unseen">{words}</label>
      <WritingField id={id} rows={1} placeholder={words} value={text} onText={setText} data-testid="reply-text" />
      {refusal !== undefined && <p className="field-error composer-more" role="alert">{refusal}</p>}
      <button type="submit" className="button" disabled={!canSend} data-testid="reply-send">Reply</button>
    </form>
  );
}
