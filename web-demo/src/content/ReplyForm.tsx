// A reply that is being written, below the post that it answers.
import { useMutation } from "@apollo/client/react";
import { type SubmitEvent, useId, useState } from "react";
import { PublishDocument } from "../api/documents";
import { addToTimeline } from "../api/timelineCache";
import { describeFailure } from "../api/userErrors";
import { useDraft } from "../timeline/useDraft";

interface ReplyFormProps {
  contentId: string;
  onSent: () => Promise<unknown>;
}

export function ReplyForm({ contentId, onSent }: ReplyFormProps) {
  const id = useId();
  const draft = useDraft();
  const [publish, { loading }] = useMutation(PublishDocument);
  const [refusal, setRefusal] = useState<string | null>(null);
  const canSend = !loading && draft.text.trim() !== "";

  async function send() {
    const input = { ...draft.input, replyTo: contentId };
    try {
      const { data } = await publish({
        variables: { input },
        update: (cache, result) => {
          const edge = result.data?.publishContent?.timelineEdge;
          if (edge != null) addToTimeline(cache, [edge]);
        },
      });
      const message = data?.publishContent?.userErrors[0]?.message ?? null;
      setRefusal(message);
      if (message !== null) return;
      draft.clear(input);
      await onSent();
    } catch (error) {
      setRefusal(describeFailure(error));
    }
  }

  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    if (canSend) void send();
  }

  return (
    <form className="composer card reply-form" onSubmit={onSubmit} data-testid="reply-form">
      <label htmlFor={id} className="unseen">Write a reply</label>
      <textarea id={id} rows={1} placeholder="Write a reply" value={draft.text}
        onChange={(event) => { draft.setText(event.target.value); }} data-testid="reply-text" />
      {refusal !== null && <p className="field-error" role="alert">{refusal}</p>}
      <div className="composer-foot">
        <button type="submit" className="button" disabled={!canSend} data-testid="reply-send">Reply</button>
      </div>
    </form>
  );
}
