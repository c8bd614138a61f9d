// A reply that is being written, below the post that it answers.
import { useViewer } from "@tidefeed/react";
import { type KeyboardEvent, type SubmitEvent, useEffect, useId, useRef, useState } from "react";
import { tidefeed } from "../api/tidefeed";
import { describeFailure } from "../api/userErrors";
import { Avatar } from "../people/Avatar";
import { useDraft } from "../timeline/drafts";
import { isReplyWanted } from "./replying";

function submitOnCtrlEnter(event: KeyboardEvent<HTMLTextAreaElement>) {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.form?.requestSubmit();
}

/** `to`: whose post it is. */
export function ReplyForm({ contentId, to }: { contentId: string; to: string | undefined }) {
  const id = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  const draft = useDraft(`reply.${contentId}`);
  const viewer = useViewer().value;
  const [isSending, setIsSending] = useState(false);
  const [refusal, setRefusal] = useState<string | null>(null);
  const canSend = !isSending && draft.text.trim() !== "";
  useEffect(() => { if (isReplyWanted(contentId)) field.current?.focus(); }, [contentId]);

  async function send() {
    const sent = draft.take();
    setIsSending(true);
    setRefusal(null);
    try {
      const [refused] = await tidefeed.publish({ ...sent, replyTo: contentId });
      if (refused === undefined) draft.published();
      else {
        draft.putBack(sent);
        setRefusal(refused.message);
      }
    } catch (error) {
      draft.putBack(sent);
      setRefusal(describeFailure(error));
    } finally {
      setIsSending(false);
    }
  }

  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    if (canSend) void send();
  }

  const words = to === undefined ? "Write a reply" : `Reply to @${to}`;
  return (
    <form className="composer card reply-form" data-to={contentId} onSubmit={onSubmit} data-testid="reply-form">
      {viewer !== null && <Avatar {...viewer} />}
      <label htmlFor={id} className="unseen">{words}</label>
      <textarea ref={field} id={id} rows={1} placeholder={words} value={draft.text}
        onChange={(event) => { draft.setText(event.target.value); }} onKeyDown={submitOnCtrlEnter} data-testid="reply-text" />
      {refusal !== null && <p className="field-error composer-more" role="alert">{refusal}</p>}
      <button type="submit" className="button" disabled={!canSend} data-testid="reply-send">Reply</button>
    </form>
  );
}
