// Where posts are written. What is published stands on the timeline at once, and comes back here if it is refused.
import { useViewer } from "@tidefeed/react";
import { type SubmitEvent, useId } from "react";
import { errorAt, errorsElsewhere } from "../api/userErrors";
import { FormErrors } from "../parts/FormErrors";
import { Icon } from "../parts/Icon";
import { Avatar } from "../people/Avatar";
import { leaveComposer, openComposer } from "./composing";
import { refusedAddress, useDraft } from "./drafts";
import { PictureFields } from "./PictureFields";
import { WritingField } from "./WritingField";

// The server's limits (domain/limits.rs): characters, and pictures.
const TEXT_LIMIT = 5000;
const MOST_PICTURES = 9;
const COUNT_FROM = TEXT_LIMIT - 200;
const FIELDS = ["text", "url", "alt"];

/** `isInline`: on the page itself, not in the sheet. */
export function Composer({ isInline = false }: { isInline?: boolean }) {
  const id = useId();
  const { text, pictures, problem, ...draft } = useDraft("post");
  const viewer = useViewer().value;
  const errors = problem?.errors ?? [];

  const length = Array.from(text).length;
  const addresses = pictures.map(({ url }) => url.trim());
  const isEmpty = text.trim() === "" && addresses.every((url) => url === "");
  const canPublish = !isEmpty && length <= TEXT_LIMIT && addresses.every((url) => refusedAddress(url) === undefined);

  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    if (!canPublish) return;
    void draft.publish().then((isPublished) => { if (!isPublished) openComposer(); });
    leaveComposer();
  }

  const textError = errorAt(errors, "text");
  return (
    <form className={isInline ? "composer card inline" : "composer"} onSubmit={onSubmit} data-testid="composer">
      {viewer !== null && <Avatar {...viewer} />}
      <label htmlFor={id} className="unseen">Write a post</label>
      <WritingField id={id} rows={2} placeholder="What is the tide bringing in?" value={text} onText={draft.setText}
        aria-invalid={textError !== undefined} aria-describedby={`${id}-count`} data-testid="compose-text" />
      <div className="composer-more">
        {textError !== undefined && <p className="field-error" role="alert" data-testid="error-text">{textError}</p>}
        {pictures.map((picture, at) => (
          <PictureFields key={at} picture={picture} number={at + 1} onChange={(next) => { draft.setPictures(pictures.with(at, next)); }}
            onRemove={() => { draft.setPictures(pictures.toSpliced(at, 1)); }}
            errors={{ url: errorAt(errors, "url", at), alt: errorAt(errors, "alt", at) }} />
        ))}
        <FormErrors messages={problem?.failure == null ? errorsElsewhere(errors, FIELDS) : [problem.failure]} />
      </div>
      <div className="composer-foot">
        <button type="button" className="icon-button" aria-label="Add a picture" title="Add a picture" data-testid="compose-picture"
          disabled={pictures.length >= MOST_PICTURES} onClick={() => { draft.setPictures([...pictures, { url: "", alt: "", size: null }]); }}>
          <Icon name="picture" />
        </button>
        <span id={`${id}-count`} className={length > TEXT_LIMIT ? "count over" : "count"} data-testid="compose-count" hidden={length === 0}>
          <span className="unseen">Characters: </span>{length >= COUNT_FROM ? `${length} / ${TEXT_LIMIT}` : length}
        </span>
        <button type="submit" className="button" disabled={!canPublish} data-testid="publish">Publish</button>
      </div>
    </form>
  );
}
