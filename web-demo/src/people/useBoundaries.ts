// Muting, hiding from and blocking somebody, and undoing each: for their profile and for the lists of those whom the viewer keeps out.
import type { ApolloCache, TypedDocumentNode } from "@apollo/client";
import { useApolloClient } from "@apollo/client/react";
import { useState } from "react";
import { BlockDocument, HideDocument, MuteDocument, UnblockDocument, UnhideDocument, UnmuteDocument } from "../api/boundaryDocuments";
import { forgetTimeline } from "../api/timelineCache";
import { describeFailure } from "../api/userErrors";
import type { BoundaryInput, BoundedFragment, StandingFragment } from "../gql/graphql";
import type { Boundary } from "../routing";

export type BoundedUser = StandingFragment & { id: string; name: string };

type Mutation = TypedDocumentNode<{ bounded: BoundedFragment | null }, { input: BoundaryInput }>;

const MUTATIONS: Record<Boundary, { begin: Mutation; end: Mutation }> = {
  mute: { begin: MuteDocument, end: UnmuteDocument },
  hide: { begin: HideDocument, end: UnhideDocument },
  block: { begin: BlockDocument, end: UnblockDocument },
};

export interface Boundaries {
  /** Which of them stand. */
  has: Record<Boundary, boolean>;
  busy: boolean;
  /** Why the last change was refused, or failed. */
  refusal: string | null;
  /** Whether it was changed. */
  toggle: (boundary: Boundary) => Promise<boolean>;
}

export function useBoundaries(user: BoundedUser): Boundaries {
  const client = useApolloClient();
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<string | null>(null);
  const has = { mute: user.viewerHasMuted === true, hide: user.viewerIsHiding === true, block: user.viewerHasBlocked === true };

  /** What it changes of what the viewer sees is read again: hiding changes what the other sees. */
  function forget(cache: ApolloCache, boundary: Boundary) {
    if (boundary === "hide") return;
    forgetTimeline(cache);
    if (boundary === "block") cache.evict({ id: cache.identify({ __typename: "User", id: user.id }), fieldName: "contents" });
  }

  async function toggle(boundary: Boundary): Promise<boolean> {
    const mutation = MUTATIONS[boundary][has[boundary] ? "end" : "begin"];
    setBusy(true);
    try {
      const { data } = await client.mutate({
        mutation, variables: { input: { userId: user.id } }, update: (cache) => { forget(cache, boundary); },
      });
      const refused = data?.bounded?.userErrors[0]?.message ?? null;
      setRefusal(refused);
      return refused === null;
    } catch (error) {
      setRefusal(describeFailure(error));
      return false;
    } finally {
      setBusy(false);
    }
  }

  return { has, busy, refusal, toggle };
}
