import { useMutation } from "@apollo/client/react";
import { useState } from "react";
import { forgetTimeline } from "../api/timelineCache";
import { FollowDocument, UnfollowDocument } from "../api/documents";
import { describeFailure, type UserError } from "../api/userErrors";
import type { PersonFragment } from "../gql/graphql";

function refusalOf(errors: UserError[] | undefined): string | null {
  return errors?.[0]?.message ?? null;
}

/** Follows or unfollows; the timeline is read again, because what it holds has changed. */
export function FollowButton({ user }: { user: Pick<PersonFragment, "id" | "name" | "viewerIsFollowing"> }) {
  const [follow, following] = useMutation(FollowDocument);
  const [unfollow, unfollowing] = useMutation(UnfollowDocument);
  const [refusal, setRefusal] = useState<string | null>(null);
  const isFollowing = user.viewerIsFollowing ?? false;

  async function toggle() {
    const variables = { input: { userId: user.id } };
    try {
      const errors = isFollowing
        ? (await unfollow({ variables, update: forgetTimeline })).data?.unfollowUser?.userErrors
        : (await follow({ variables, update: forgetTimeline })).data?.followUser?.userErrors;
      setRefusal(refusalOf(errors));
    } catch (error) {
      setRefusal(describeFailure(error));
    }
  }

  return (
    <span className="follow">
      <button type="button" className={isFollowing ? "button quiet following" : "button"} 
        aria-label={`${isFollowing ? "Following" : "Follow"} ${user.name}`} disabled={following.loading || unfollowing.loading}
        onClick={() => { void toggle(); }} data-testid="follow">
        {isFollowing ? <><span className="rest">Following</span><span className="hover">Unfollow</span></> : "Follow"}
      </button>
      {refusal !== null && <span role="alert" className="field-error">{refusal}</span>}
    </span>
  );
}
