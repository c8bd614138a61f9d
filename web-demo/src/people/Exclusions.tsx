// How much the viewer and somebody else see of each other: mute them, hide from them, or block them, and undo each.
import { useId, useState } from "react";
import { type ExcludableUser, useExclusions } from "./useExclusions";

export function Exclusions({ user }: { user: ExcludableUser }) {
  const id = useId();
  const [open, setOpen] = useState(false);
  const [asking, setAsking] = useState(false);
  const { has, busy, refusal, toggle } = useExclusions(user);

  async function toggleBlock() {
    if (await toggle("block")) setAsking(false);
  }

  return (
    <div className="exclusions">
      <button type="button" className="button quiet small" aria-expanded={open} aria-controls={id} onClick={() => { setOpen(!open); }}
        data-testid="exclusions">Mute, hide or block</button>
      <div id={id} className="exclusions-choice" hidden={!open}>
        {asking ? (
          <span className="confirm" role="group" aria-label={`Block ${user.name}?`}>
            <span>Block <bdi>{user.name}</bdi>? Neither of you follows the other any more, or sees what the other publishes.</span>
            <button type="button" className="button danger small" disabled={busy} autoFocus onClick={() => { void toggleBlock(); }}
              data-testid="block-confirm">Block</button>
            <button type="button" className="button quiet small" onClick={() => { setAsking(false); }}>Keep</button>
          </span>
        ) : (
          <>
            <button type="button" className="button quiet small" disabled={busy} onClick={() => { void toggle("mute"); }}
              data-testid="mute">{has.mute ? "Unmute" : "Mute"}</button>
            <button type="button" className="button quiet small" disabled={busy} onClick={() => { void toggle("hide"); }}
              data-testid="hide">{has.hide ? "Unhide" : "Hide from them"}</button>
            <button type="button" className="button quiet small" disabled={busy} data-testid="block"
              onClick={() => { if (has.block) void toggleBlock(); else setAsking(true); }}>{has.block ? "Unblock" : "Block"}</button>
          </>
        )}
      </div>
      {refusal !== null && <p role="alert" className="field-error">{refusal}</p>}
      {has.block && <p className="muted" data-testid="is-blocked">You have blocked <bdi>{user.name}</bdi>.</p>}
      {has.mute && !has.block && <p className="muted" data-testid="is-muted">Muted: nothing of theirs comes to your timeline.</p>}
      {has.hide && !has.block && (
        <p className="muted" data-testid="is-hidden">Hidden: nothing of yours comes to their timeline. Your profile stays public.</p>
      )}
    </div>
  );
}
