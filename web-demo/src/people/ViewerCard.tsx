// The signed-in user, with counts.
import { useViewer } from "@tidefeed/react";
import { tidefeed } from "../api/tidefeed";
import { ErrorNotice } from "../parts/ErrorNotice";
import { profilePath } from "../routing";
import { Avatar } from "./Avatar";
import { UserCounts } from "./UserCounts";

export function ViewerCard() {
  const { value: viewer, error } = useViewer();
  if (viewer === null && error !== null) {
    return <ErrorNotice title="Your profile did not load" error={error} onRetry={() => { tidefeed.viewer.refresh().catch(() => { /* It says so itself. */ }); }} />;
  }
  if (viewer === null) return <section className="card viewer-card shimmer" aria-hidden="true" />;
  return (
    <section className="card viewer-card" aria-label="You" data-testid="viewer-card">
      <a className="person" href={profilePath(viewer.handle)}>
        <Avatar {...viewer} />
        <span><strong><bdi>{viewer.name}</bdi></strong><small>@{viewer.handle}</small></span>
      </a>
      <UserCounts user={viewer} />
    </section>
  );
}
