import type { ProfileFragment } from "../gql/graphql";

const compact = new Intl.NumberFormat("en", { notation: "compact" });
const full = new Intl.NumberFormat("en");

function Count({ value, label, testId }: { value: number | null; label: string; testId: string }) {
  return (
    <div title={value === null ? "Not known now" : full.format(value)}>
      <dt>{label}</dt>
      <dd data-testid={testId}>{value === null ? "–" : compact.format(value)}</dd>
    </div>
  );
}

export function UserCounts({ user }: { user: ProfileFragment }) {
  return (
    <dl className="counts">
      <Count value={user.contentCount} label="Posts" testId="content-count" />
      <Count value={user.followerCount} label="Followers" testId="follower-count" />
      <Count value={user.followingCount} label="Following" testId="following-count" />
    </dl>
  );
}
