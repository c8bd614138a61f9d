// What the viewer can do to see less of somebody: mute them, or block them, and undo both.
import type { ApolloCache } from "@apollo/client";
import { useMutation } from "@apollo/client/react";
import { useId, useState } from "react";
import { BlockDocument, MuteDocument, UnblockDocument, UnmuteDocument } from "../api/profileDocuments";
import { forgetTimeline } from "../api/timelineCache";
import { describeFailure, type UserError } from "../api/userErrors";
import type { StandingFragment } from "../gql/graphql";

interface BoundariesProps {
  user: StandingFragment & { id: string; name: string };
}

type Payload = { userErrors: UserError[] } | null | undefined;

export function Boundaries({ user }: BoundariesProps) {
  const id = useId();
  const [open, setOpen] = useState(false);
  const [asking, setAsking] = useState(false);
  const [refusal, setRefusal] = useState<string | null>(null);
  const [mute, muting] = useMutation(MuteDocument);
  const [unmute, unmuting] = useMutation(UnmuteDocument);
  const [block, blocking] = useMutation(BlockDocument);
  const [unblock, unblocking] = useMutation(UnblockDocument);
  const busy = muting.loading || unmuting.loading || blocking.loading || unblocking.loading;
  const muted = user.viewerHasMuted === true;
  const blocked = user.viewerHasBlocked === true;
  const variables = { input: { userId: user.id } };

  /** A block stands before posts, too: they are read again. */
  function forgetWhatWasSeen(cache: ApolloCache) {
    forgetTimeline(cache);
    cache.evict({ id: cache.identify({ __typename: "User", id: user.id }), fieldName: "contents" });
  }

  async function run(change: () => Promise<Payload>) {
    try {
      setRefusal((await change())?.userErrors[0]?.message ?? null);
      setAsking(false);
    } catch (error) {
      setRefusal(describeFailure(error));
    }
  }

  const toggleMute = () => run(async () => muted
    ? (await unmute({ variables, update: forgetTimeline })).data?.unmuteUser
    : (await mute({ variables, update: forgetTimeline })).data?.muteUser);
  const toggleBlock = () => run(async () => blocked
    ? (await unblock({ variables, update: forgetWhatWasSeen })).data?.unblockUser
    : (await block({ variables, update: forgetWhatWasSeen })).data?.blockUser);

  return (
    <div className="boundaries">
      <button type="button" className="button quiet small" aria-expanded={open} aria-controls={id} onClick={() => { setOpen(!open); }}
        data-testid="boundaries">See less of {user.name}</button>
      <div id={id} className="boundaries-choice" hidden={!open}>
        {asking ? (
          <span className="confirm" role="group" aria-label={`Block ${user.name}?`}>
            <span>Block {user.name}? Neither of you follows the other any more, or sees what the other publishes.</span>
            <button type="button" className="button danger small" disabled={busy} autoFocus onClick={() => { void toggleBlock(); }}
              data-testid="block-confirm">Block</button>
            <button type="button" className="button quiet small" onClick={() => { setAsking(false); }}>Keep</button>
          </span>
        ) : (
          <>
            <button type="button" className="button quiet small" aria-pressed={muted} disabled={busy} onClick={() => { void toggleMute(); }}
              data-testid="mute">{muted ? "Unmute" : "Mute"}</button>
            <button type="button" className="button quiet small" aria-pressed={blocked} disabled={busy} data-testid="block"
              onClick={() => { if (blocked) void toggleBlock(); else setAsking(true); }}>{blocked ? "Unblock" : "Block"}</button>
          </>
        )}
      </div>
      {refusal !== null && <p role="alert" className="field-error">{refusal}</p>}
      {blocked && <p className="muted" data-testid="is-blocked">You have blocked {user.name}.</p>}
      {muted && !blocked && <p className="muted" data-testid="is-muted">Muted: nothing of theirs comes to your timeline.</p>}
    </div>
  );
}
