import type { User } from "@tidefeed/client";
import { useFollow, useSession } from "@tidefeed/react";
import { useState } from "react";
import { signInPath } from "../routing";

/** Follows or unfollows: shown at once, and taken back if it fails. It offers to unfollow only to who comes back to it. */
export function FollowButton({ user }: { user: Pick<User, "id" | "name" | "viewerIsFollowing"> }) {
  const { signedIn } = useSession();
  const { isFollowing, error, toggle } = useFollow(user);
  const [isPressed, setIsPressed] = useState(false);
  const leave = () => { setIsPressed(false); };
  if (!signedIn) return <a className="button" href={signInPath} aria-label={`Sign in to follow ${user.name}`} data-testid="follow-guest">Follow</a>;
  return (
    <span className="follow">
      <button type="button" className={isFollowing ? "button quiet following" : "button"}
        aria-label={`${isFollowing ? "Following" : "Follow"} ${user.name}`} data-testid="follow" onPointerLeave={leave} onBlur={leave}
        onClick={() => {
          setIsPressed(true);
          toggle();
        }}>
        {isFollowing && isPressed && "Following"}
        {isFollowing && !isPressed && <><span className="rest">Following</span><span className="hover">Unfollow</span></>}
        {!isFollowing && "Follow"}
      </button>
      {error !== null && <span role="alert" className="field-error">{error}</span>}
    </span>
  );
}
