// How much the viewer and somebody else see of each other: mute them, hide from them, or block them, and undo each.
import { useState } from "react";
import type { MenuItem } from "../parts/Menu";
import { notify } from "../parts/notices";
import { Question } from "../parts/Question";
import type { Exclusion } from "../routing";
import { type ExcludableUser, useExclusions } from "./useExclusions";

const NAMES: Record<Exclusion, (who: string) => [begin: string, end: string, done: string]> = {
  mute: (who) => [`Mute ${who}`, `Unmute ${who}`, `You have muted ${who}.`],
  hide: (who) => [`Hide my posts from ${who}`, `Show my posts to ${who}`, `${who} no longer gets your posts.`],
  block: (who) => [`Block ${who}`, `Unblock ${who}`, `You have blocked ${who}.`],
};

/** The items of a menu, what stands below the menu's button meanwhile, and whether they are blocked. `says`: a notice tells what was done. */
export function useExclusionMenu(user: ExcludableUser & { handle: string }, says: boolean) {
  const [isAsking, setIsAsking] = useState(false);
  const { has, busy, refusal, toggle, undo } = useExclusions(user);
  const who = `@${user.handle}`;

  async function change(exclusion: Exclusion) {
    const [, , done] = NAMES[exclusion](who);
    const begins = !has[exclusion];
    if (!await toggle(exclusion)) return;
    setIsAsking(false);
    if (says && begins) notify({ text: done, action: { name: "Undo", act: () => { undo(exclusion); } } });
  }

  const items = (): MenuItem[] => (["mute", "hide", "block"] as const).map((exclusion) => {
    const [begin, end] = NAMES[exclusion](who);
    const asks = exclusion === "block" && !has.block;
    return {
      name: has[exclusion] ? end : begin, icon: exclusion, testId: exclusion, isDangerous: asks,
      act: () => { if (asks) setIsAsking(true); else void change(exclusion); },
    };
  });
  const question = isAsking ? (
    <Question label={`Block ${user.name}?`} answer="Block" testId="block-confirm" isBusy={busy} refusal={refusal}
      onAnswer={() => { void change("block"); }} onCancel={() => { setIsAsking(false); }}>
      Block <bdi>{user.name}</bdi>? You will no longer follow each other or see each other’s posts.
    </Question>
  ) : refusal !== null && <p role="alert" className="field-error">{refusal}</p>;
  return { items, question, has };
}

/** What holds between the viewer and them, in words. */
export function Standing({ user, has }: { user: ExcludableUser; has: Record<Exclusion, boolean> }) {
  return (
    <>
      {has.block && <p className="muted" data-testid="is-blocked">You have blocked <bdi>{user.name}</bdi>.</p>}
      {has.mute && !has.block && <p className="muted" data-testid="is-muted">Muted: you don’t see their posts in your timeline.</p>}
      {has.hide && !has.block && <p className="muted" data-testid="is-hidden">Hidden: they don’t get your posts in their timeline. Your profile stays public.</p>}
    </>
  );
}
