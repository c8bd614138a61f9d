import { EmptyState } from "../parts/EmptyState";
import { timelinePath } from "../routing";

export function NoSuchUser({ handle }: { handle: string }) {
  return (
    <EmptyState title={`No one is called @${handle}`} heading="h1" testId="no-such-user">
      <title>No such user · Tidefeed</title>
      <p>Check the spelling and search again, or <a href={timelinePath}>go to the start page</a>.</p>
    </EmptyState>
  );
}
