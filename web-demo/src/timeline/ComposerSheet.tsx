import { useEffect, useRef } from "react";
import { Icon } from "../parts/Icon";
import { Composer } from "./Composer";
import { closeComposer, goOnComposing, leaveComposer, type Sheet, useSheet } from "./composing";
import { draftOf } from "./drafts";

function OpenSheet({ sheet }: { sheet: Sheet }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
    dialog.current?.querySelector("textarea")?.focus();
  }, []);
  return (
    <dialog ref={dialog} className="sheet card" aria-label="Write a post" data-testid="sheet" onClose={leaveComposer}
      onCancel={(event) => {
        event.preventDefault();
        closeComposer();
      }}>
      <div className="page-head">
        <h2>Write a post</h2>
        <button type="button" className="icon-button" aria-label="Close" onClick={closeComposer} data-testid="compose-cancel"><Icon name="cross" /></button>
      </div>
      {sheet === "asking" && (
        <div className="confirm" role="group" aria-label="Keep this draft?" data-testid="draft-question">
          <span>Keep this draft?</span>
          <button type="button" className="button small" autoFocus onClick={leaveComposer} data-testid="draft-keep">Keep</button>
          <button type="button" className="button danger small" onClick={() => {
            draftOf("post").clear();
            leaveComposer();
          }} data-testid="draft-delete">Delete</button>
          <button type="button" className="button quiet small" onClick={goOnComposing} data-testid="draft-go-on">Continue writing</button>
        </div>
      )}
      <Composer />
    </dialog>
  );
}

export function ComposerSheet() {
  const sheet = useSheet();
  return sheet === "closed" ? null : <OpenSheet sheet={sheet} />;
}
