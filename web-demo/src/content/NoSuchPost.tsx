import { EmptyState } from "../parts/EmptyState";
import { timelinePath } from "../routing";

export function NoSuchPost() {
  return (
    <EmptyState title="There is no such post" heading="h1" testId="no-such-post">
      <title>No such post · Tidefeed</title>
      <p>It may have been deleted. <a href={timelinePath}>Go to the start page</a>.</p>
    </EmptyState>
  );
}
