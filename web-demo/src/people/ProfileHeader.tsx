import { bannerOf } from "../content/pictures";
import type { ProfileFragment, StandingFragment } from "../gql/graphql";
import { Avatar } from "./Avatar";
import { Exclusions } from "./Exclusions";
import { EditProfile } from "./EditProfile";
import { FollowButton } from "./FollowButton";
import { UserCounts } from "./UserCounts";

const month = new Intl.DateTimeFormat("en", { month: "long", year: "numeric" });
const exact = new Intl.DateTimeFormat("en", { dateStyle: "full", timeStyle: "medium" });

export function ProfileHeader({ user }: { user: ProfileFragment & StandingFragment }) {
  const joined = Date.parse(user.createdAt);
  return (
    <section className="card profile" data-testid="profile">
      <img className="profile-banner" src={bannerOf(user.id)} alt="" width={1200} height={400} decoding="async" data-testid="profile-banner" />
      <div className="profile-top">
        <Avatar {...user} large />
        {user.isViewer ? <span className="tag">This is you</span> : (user.viewerHasBlocked !== true && <FollowButton user={user} />)}
      </div>
      <h1><bdi>{user.name}</bdi></h1>
      <p className="muted">
        @{user.handle} · joined <time dateTime={user.createdAt} title={exact.format(joined)}>{month.format(joined)}</time>
      </p>
      {user.bio !== "" && <p className="bio" dir="auto">{user.bio}</p>}
      <UserCounts user={user} />
      {user.isViewer ? <EditProfile user={user} /> : <Exclusions user={user} />}
    </section>
  );
}
