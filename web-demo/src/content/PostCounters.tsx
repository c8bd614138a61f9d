import type { CardFragment } from "../gql/graphql";
import { counted } from "../parts/numbers";
import { likersPath, threadPath } from "../routing";

/** How often others liked and answered a post or passed it on; nothing where all counts are zero or not available. */
export function PostCounters({ post: { id, counters } }: { post: Pick<CardFragment, "id" | "counters"> }) {
  if (counters === null) return null;
  const { likes, comments, reposts } = counters;
  if (likes + comments + reposts === 0) return null;
  return (
    <span className="post-counters muted">
      {likes > 0 && <a href={likersPath(id)} data-testid="like-count">{counted(likes, "like", "likes")}</a>}
      {comments > 0 && <a href={threadPath(id)}>{counted(comments, "comment", "comments")}</a>}
      {reposts > 0 && <span>{counted(reposts, "repost", "reposts")}</span>}
    </span>
  );
}
