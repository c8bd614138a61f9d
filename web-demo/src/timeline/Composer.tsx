// Where posts are written. Ctrl+Enter (or Cmd+Enter) publishes. What is published stands on the timeline at once, and comes back here if it is refused.
import { useViewer } from "@tidefeed/react";
import { type KeyboardEvent, type SubmitEvent, useEffect, useId, useRef, useState } from "react";
import { tidefeed } from "../api/tidefeed";
import { describeFailure, errorAt, errorsElsewhere, type UserError } from "../api/userErrors";
import { FormErrors } from "../parts/FormErrors";
import { Icon } from "../parts/Icon";
import { Avatar } from "../people/Avatar";
import { closeComposer, useComposing } from "./composing";
import { useDraft } from "./drafts";
import { PictureFields } from "./PictureFields";

// The server's limit (domain/limits.rs), in characters.
const TEXT_LIMIT = 5000;
const COUNT_FROM = TEXT_LIMIT - 200;
const FIELDS = ["text", "url", "alt"];

function onKeyDown(event: KeyboardEvent<HTMLTextAreaElement>) {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.form?.requestSubmit();
  if (event.key === "Escape") {
    closeComposer();
    event.currentTarget.blur();
  }
}

export function Composer() {
  const id = useId();
  const draft = useDraft("post");
  const viewer = useViewer().value;
  const isOpen = useComposing();
  const field = useRef<HTMLTextAreaElement>(null);
  const [errors, setErrors] = useState<readonly UserError[]>([]);
  const [failure, setFailure] = useState<string | null>(null);

  useEffect(() => { if (isOpen) field.current?.focus(); }, [isOpen]);
  useEffect(() => closeComposer, []);

  const length = Array.from(draft.text).length;
  const isEmpty = draft.text.trim() === "" && (draft.picture?.url.trim() ?? "") === "";
  const canPublish = !isEmpty && length <= TEXT_LIMIT;

  async function send() {
    const sent = draft.take();
    setErrors([]);
    setFailure(null);
    closeComposer();
    try {
      const refusals = await tidefeed.publish(sent);
      setErrors(refusals);
      if (refusals.length === 0) draft.published();
      else draft.putBack(sent);
    } catch (error) {
      draft.putBack(sent);
      setFailure(describeFailure(error));
    }
  }

  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    if (canPublish) void send();
  }

  const textError = errorAt(errors, "text");
  const isWanted = isOpen || failure !== null || errors.length > 0;
  return (
    <form className={isWanted ? "composer card open" : "composer card"} onSubmit={onSubmit} data-testid="composer">
      {viewer !== null && <Avatar {...viewer} />}
      <label htmlFor={id} className="unseen">Write a post</label>
      <textarea ref={field} id={id} className="composer-text" rows={2} placeholder="What is the tide bringing in?" value={draft.text} aria-invalid={textError !== undefined}
        aria-describedby={`${id}-count`} onChange={(event) => { draft.setText(event.target.value); }} onKeyDown={onKeyDown} data-testid="compose-text" />
      <div className="composer-more">
        {textError !== undefined && <p className="field-error" role="alert" data-testid="error-text">{textError}</p>}
        {draft.picture !== null && <PictureFields picture={draft.picture} onChange={draft.setPicture} errors={errors} />}
        <FormErrors messages={failure === null ? errorsElsewhere(errors, FIELDS) : [failure]} />
      </div>
      <div className="composer-foot">
        <button type="button" className="icon-button" aria-expanded={draft.picture !== null} data-testid="compose-picture"
          aria-label={draft.picture === null ? "Add a picture" : "Remove the picture"} title={draft.picture === null ? "Add a picture" : "Remove the picture"}
          onClick={() => { draft.setPicture(draft.picture === null ? { url: "", alt: "", size: null } : null); }}>
          <Icon name="picture" />
        </button>
        <span id={`${id}-count`} className={length > TEXT_LIMIT ? "count over" : "count"} data-testid="compose-count" hidden={length === 0}>
          <span className="unseen">Characters: </span>{length >= COUNT_FROM ? `${length} / ${TEXT_LIMIT}` : length}
        </span>
        <button type="button" className="button quiet composer-cancel" onClick={closeComposer} data-testid="compose-cancel">Cancel</button>
        <button type="submit" className="button" disabled={!canPublish} data-testid="publish">Publish</button>
      </div>
    </form>
  );
}
