// Muting, hiding from and blocking somebody, and undoing each: for their profile and for the lists of those whom the viewer keeps out.
import { useState } from "react";
import { tidefeed } from "../api/tidefeed";
import { describeFailure } from "../api/userErrors";
import type { StandingFragment } from "../gql/graphql";
import { notify } from "../parts/notices";
import type { Exclusion } from "../routing";

/** What is not known of how they stand is taken not to be. */
export type ExcludableUser = Partial<StandingFragment> & { id: string; name: string };

const ACTIONS = {
  mute: { begin: tidefeed.mute, end: tidefeed.unmute },
  hide: { begin: tidefeed.hide, end: tidefeed.unhide },
  block: { begin: tidefeed.block, end: tidefeed.unblock },
} as const;

export interface Exclusions {
  /** Which of them stand. */
  has: Record<Exclusion, boolean>;
  busy: boolean;
  /** Why the last change was refused, or failed. */
  refusal: string | null;
  /** Whether it was changed. */
  toggle: (exclusion: Exclusion) => Promise<boolean>;
  /** Ends one, also when what it began on is no longer there. */
  undo: (exclusion: Exclusion) => void;
}

export function useExclusions(user: ExcludableUser): Exclusions {
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<string | null>(null);
  const has = { mute: user.viewerHasMuted === true, hide: user.viewerIsHiding === true, block: user.viewerHasBlocked === true };

  async function toggle(exclusion: Exclusion): Promise<boolean> {
    const change = ACTIONS[exclusion][has[exclusion] ? "end" : "begin"];
    setBusy(true);
    setRefusal(null);
    try {
      const refused = (await change(user.id))[0]?.message ?? null;
      setRefusal(refused);
      return refused === null;
    } catch (error) {
      setRefusal(describeFailure(error));
      return false;
    } finally {
      setBusy(false);
    }
  }

  const undo = (exclusion: Exclusion) => {
    ACTIONS[exclusion].end(user.id).then(([refused]) => { notify(refused === undefined ? null : { text: refused.message }); },
      (error: unknown) => { notify({ text: describeFailure(error) }); });
  };
  return { has, busy, refusal, toggle, undo };
}
