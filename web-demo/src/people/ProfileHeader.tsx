import type { User } from "@tidefeed/client";
import { useSession } from "@tidefeed/react";
import { useState } from "react";
import { bannerOf } from "../content/pictures";
import type { ProfileFragment, StandingFragment } from "../gql/graphql";
import { Avatar } from "./Avatar";
import { Menu } from "../parts/Menu";
import { sharingItems } from "../parts/sharing";
import { profilePath } from "../routing";
import { Standing, useExclusionMenu } from "./Exclusions";
import { EditProfile } from "./EditProfile";
import { FollowButton } from "./FollowButton";
import { UserCounts } from "./UserCounts";

const month = new Intl.DateTimeFormat("en", { month: "long", year: "numeric" });
const exact = new Intl.DateTimeFormat("en", { dateStyle: "full", timeStyle: "medium" });

export function ProfileHeader({ user }: { user: ProfileFragment & StandingFragment }) {
  const joined = Date.parse(user.createdAt);
  const { signedIn } = useSession();
  const { items, question, has } = useExclusionMenu(user, false);
  const sharing = () => sharingItems(profilePath(user.handle), `${user.name} on Tidefeed`);
  return (
    <section className="card profile" data-testid="profile">
      <Banner key={user.id} id={user.id} />
      <div className="profile-top">
        <Avatar {...user} large />
        <div className="profile-actions">
          {user.isViewer ? <span className="tag">This is you</span> : (user.viewerHasBlocked !== true && <FollowButton user={user} />)}
          <Menu label={`More about ${user.name}`} className="icon-button" testId="exclusions" items={() => [...sharing(), ...(user.isViewer || !signedIn ? [] : items())]} />
        </div>
      </div>
      <h1><bdi>{user.name}</bdi></h1>
      <p className="muted">
        @{user.handle} · joined <time dateTime={user.createdAt} title={exact.format(joined)}>{month.format(joined)}</time>
      </p>
      {user.bio !== "" && <p className="bio" dir="auto">{user.bio}</p>}
      <UserCounts user={user} />
      {user.isViewer ? <EditProfile user={user} /> : <>{question}<Standing user={user} has={has} /></>}
    </section>
  );
}

/** As much as their posts have told of them. */
export function RememberedHeader({ user }: { user: User }) {
  return (
    <section className="card profile" data-testid="profile">
      <Banner key={user.id} id={user.id} />
      <div className="profile-top"><Avatar {...user} large />{!user.isViewer && <FollowButton user={user} />}</div>
      <h1><bdi>{user.name}</bdi></h1>
      <p className="muted">@{user.handle}</p>
    </section>
  );
}

/** The banner that a server with the demo draws; a plain field with any other. */
function Banner({ id }: { id: string }) {
  const [isMissing, setIsMissing] = useState(false);
  if (isMissing) return <div className="profile-banner" data-testid="no-banner" />;
  return (
    <img className="profile-banner" src={bannerOf(id)} alt="" width={1200} height={400} decoding="async"
      onError={() => { setIsMissing(true); }} data-testid="profile-banner" />
  );
}
