import { useMutation } from "@apollo/client/react";
import { useState } from "react";
import { DeleteDocument } from "../api/documents";
import { forgetContent } from "../api/timelineCache";
import { describeFailure } from "../api/userErrors";
import { Icon } from "../parts/Icon";

interface DeletePostProps {
  contentId: string;
  authorId: string | undefined;
}

/** Deletes one's own post, after asking. */
export function DeletePost({ contentId, authorId }: DeletePostProps) {
  const [remove, { loading }] = useMutation(DeleteDocument);
  const [asking, setAsking] = useState(false);
  const [refusal, setRefusal] = useState<string | null>(null);

  async function confirm() {
    try {
      const { data } = await remove({
        variables: { input: { contentId } },
        update: (cache, result) => {
          const deleted = result.data?.deleteContent?.deletedContentId;
          if (deleted != null) forgetContent(cache, deleted, authorId);
        },
      });
      setRefusal(data?.deleteContent?.userErrors[0]?.message ?? null);
    } catch (error) {
      setRefusal(describeFailure(error));
    }
  }

  if (!asking) {
    return (
      <button type="button" className="post-action" onClick={() => { setAsking(true); }} data-testid="delete">
        <Icon name="bin" /> Delete
      </button>
    );
  }
  return (
    <span className="confirm" role="group" aria-label="Delete this post?">
      {refusal === null ? <span>Delete this post?</span> : <span role="alert" className="field-error">{refusal}</span>}
      <button type="button" className="button danger small" disabled={loading} autoFocus onClick={() => { void confirm(); }}
        data-testid="delete-confirm">Delete</button>
      <button type="button" className="button quiet small" onClick={() => { setAsking(false); setRefusal(null); }}>Keep</button>
    </span>
  );
}
