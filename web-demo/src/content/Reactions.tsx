import type { ApolloCache } from "@apollo/client";
import { useMutation } from "@apollo/client/react";
import { useState } from "react";
import { FavouriteDocument, LikeDocument, UnfavouriteDocument, UnlikeDocument } from "../api/documents";
import { describeFailure, type UserError } from "../api/userErrors";
import type { CardFragment } from "../gql/graphql";
import { Icon, type IconName } from "../parts/Icon";
import { short } from "../parts/numbers";

interface ReactionProps {
  icon: IconName;
  label: string;
  /** How many there are, where that is told nowhere else. */
  count?: number | undefined;
  pressed: boolean;
  busy: boolean;
  onToggle: () => void;
}

function Reaction({ icon, label, count, pressed, busy, onToggle }: ReactionProps) {
  return (
    <button type="button" className="post-action reaction" aria-pressed={pressed} aria-label={label} disabled={busy}
      onClick={onToggle} data-testid={icon}>
      <Icon name={icon} /> {count !== undefined && count > 0 && <span className="reaction-count">{short(count)}</span>}
    </button>
  );
}

/** Like and favourite; the server's answer says what is so. */
export function Reactions({ post }: { post: CardFragment }) {
  const [like, liking] = useMutation(LikeDocument);
  const [unlike, unliking] = useMutation(UnlikeDocument);
  const [favourite, keeping] = useMutation(FavouriteDocument);
  const [unfavourite, dropping] = useMutation(UnfavouriteDocument);
  const [refusal, setRefusal] = useState<string | null>(null);
  const { counters } = post;
  const liked = post.viewerHasLiked === true;
  const kept = post.viewerHasFavourited === true;
  const variables = { input: { contentId: post.id } };

  // Where they are listed they are read anew: the viewer is among them now, or no longer.
  function forgetLikers(cache: ApolloCache) {
    cache.evict({ id: cache.identify({ __typename: "Content", id: post.id }), fieldName: "likers" });
  }

  async function toggleLike() {
    const payload = liked
      ? (await unlike({ variables, update: forgetLikers })).data?.unlikeContent
      : (await like({ variables, update: forgetLikers })).data?.likeContent;
    return payload?.userErrors;
  }

  async function toggleFavourite() {
    const payload = kept
      ? (await unfavourite({ variables })).data?.unfavouriteContent
      : (await favourite({ variables })).data?.favouriteContent;
    return payload?.userErrors;
  }

  async function tell(errors: Promise<UserError[] | undefined>) {
    try {
      setRefusal((await errors)?.[0]?.message ?? null);
    } catch (error) {
      setRefusal(describeFailure(error));
    }
  }

  return (
    <span className="reactions">
      <Reaction icon="heart" label="Like" pressed={liked} busy={liking.loading || unliking.loading}
        onToggle={() => { void tell(toggleLike()); }} />
      <Reaction icon="star" label="Favourite" count={counters?.favourites} pressed={kept} busy={keeping.loading || dropping.loading}
        onToggle={() => { void tell(toggleFavourite()); }} />
      {refusal !== null && <span role="alert" className="field-error">{refusal}</span>}
    </span>
  );
}
