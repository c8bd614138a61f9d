// The signed-in user, with counts.
import { useQuery } from "@apollo/client/react";
import { ViewerDocument } from "../api/documents";
import { ErrorNotice } from "../parts/ErrorNotice";
import { profilePath } from "../routing";
import { Avatar } from "./Avatar";
import { UserCounts } from "./UserCounts";

export function ViewerCard() {
  const { data, error, refetch } = useQuery(ViewerDocument);
  const viewer = data?.viewer;
  if (viewer == null && error !== undefined) {
    return <ErrorNotice title="Your profile did not load" error={error} onRetry={() => { void refetch(); }} />;
  }
  if (viewer == null) return <section className="card viewer-card shimmer" aria-hidden="true" />;
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
