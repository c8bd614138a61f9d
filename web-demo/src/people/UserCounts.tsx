import type { Viewer } from "@tidefeed/client";
import { exact, short } from "../parts/numbers";
import { followsPath } from "../routing";

interface CountProps {
  value: number | null;
  label: string;
  testId: string;
  /** Where those who are counted are listed. */
  href?: string;
}

function Count({ value, label, testId, href }: CountProps) {
  const told = value === null ? "–" : short(value);
  const full = value === null ? "Not known now" : exact(value);
  return (
    <div title={full}>
      <dt>{label}</dt>
      <dd data-testid={testId}>{href === undefined ? told : <a href={href} aria-label={`${label}: ${full}`}>{told}</a>}</dd>
    </div>
  );
}

export function UserCounts({ user }: { user: Pick<Viewer, "handle" | "followerCount" | "followingCount" | "contentCount"> }) {
  return (
    <dl className="counts">
      <Count value={user.contentCount} label="Posts" testId="content-count" />
      <Count value={user.followerCount} label="Followers" testId="follower-count" href={followsPath(user.handle, "followers")} />
      <Count value={user.followingCount} label="Following" testId="following-count" href={followsPath(user.handle, "following")} />
    </dl>
  );
}
