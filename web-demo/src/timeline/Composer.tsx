// Where posts are written. Ctrl+Enter (or Cmd+Enter) publishes.
import { useMutation } from "@apollo/client/react";
import { type KeyboardEvent, type SubmitEvent, useId, useState } from "react";
import { PublishDocument } from "../api/documents";
import { addToTimeline } from "../api/timelineCache";
import { describeFailure, errorAt, errorsElsewhere, type UserError } from "../api/userErrors";
import { FormErrors } from "../parts/FormErrors";
import { Icon } from "../parts/Icon";
import { PictureFields } from "./PictureFields";
import { useDraft } from "./useDraft";

// The server's limit (domain/limits.rs), in characters.
const TEXT_LIMIT = 5000;
const COUNT_FROM = TEXT_LIMIT - 200;
const FIELDS = ["text", "url", "alt"];

function submitOnCtrlEnter(event: KeyboardEvent<HTMLTextAreaElement>) {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.form?.requestSubmit();
}

export function Composer() {
  const id = useId();
  const draft = useDraft();
  const [publish, { loading }] = useMutation(PublishDocument);
  const [errors, setErrors] = useState<readonly UserError[]>([]);
  const [failure, setFailure] = useState<string | null>(null);

  const length = Array.from(draft.text).length;
  const isEmpty = draft.text.trim() === "" && (draft.picture?.url.trim() ?? "") === "";
  const canPublish = !loading && !isEmpty && length <= TEXT_LIMIT;

  async function send() {
    const input = draft.input;
    setFailure(null);
    try {
      const { data } = await publish({
        variables: { input },
        update: (cache, result) => {
          const edge = result.data?.publishContent?.timelineEdge;
          if (edge != null) addToTimeline(cache, [edge]);
        },
      });
      const refusals = data?.publishContent?.userErrors ?? [];
      setErrors(refusals);
      if (refusals.length === 0) draft.clear(input);
    } catch (error) {
      setFailure(describeFailure(error));
    }
  }

  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    if (canPublish) void send();
  }

  const textError = errorAt(errors, "text");
  return (
    <form className="composer card" onSubmit={onSubmit} data-testid="composer">
      <label htmlFor={id} className="unseen">Write a post</label>
      <textarea id={id} rows={2} placeholder="What is the tide bringing in?" value={draft.text} aria-invalid={textError !== undefined}
        aria-describedby={`${id}-count`} onChange={(event) => { draft.setText(event.target.value); }} onKeyDown={submitOnCtrlEnter}
        data-testid="compose-text" />
      {textError !== undefined && <p className="field-error" role="alert" data-testid="error-text">{textError}</p>}
      {draft.picture !== null && <PictureFields picture={draft.picture} onChange={draft.setPicture} errors={errors} />}
      <FormErrors messages={failure === null ? errorsElsewhere(errors, FIELDS) : [failure]} />
      <div className="composer-foot">
        <button type="button" className="post-action" aria-expanded={draft.picture !== null} data-testid="compose-picture"
          onClick={() => { draft.setPicture(draft.picture === null ? { url: "", alt: "", size: null } : null); }}>
          <Icon name="picture" /> {draft.picture === null ? "Add a picture" : "Remove the picture"}
        </button>
        <span id={`${id}-count`} className={length > TEXT_LIMIT ? "count over" : "count"} data-testid="compose-count">
          <span className="unseen">Characters: </span>{length >= COUNT_FROM ? `${length} / ${TEXT_LIMIT}` : length}
        </span>
        <button type="submit" className="button" disabled={!canPublish} data-testid="publish">Publish</button>
      </div>
    </form>
  );
}
