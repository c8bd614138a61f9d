import { useApolloClient, useMutation } from "@apollo/client/react";
import { useState } from "react";
import { RepostDocument, UnrepostDocument } from "../api/documents";
import { addToTimeline, refreshTimeline } from "../api/timelineCache";
import { describeFailure } from "../api/userErrors";
import type { CardFragment } from "../gql/graphql";
import { Icon } from "../parts/Icon";

/** Reposts, or takes it back; then the timeline is read again, for an older entry of the same may stand there now. */
export function RepostButton({ post }: { post: CardFragment }) {
  const client = useApolloClient();
  const [repost, reposting] = useMutation(RepostDocument);
  const [unrepost, unreposting] = useMutation(UnrepostDocument);
  const [refusal, setRefusal] = useState<string | null>(null);
  const isReposted = post.viewerHasReposted ?? false;

  async function toggle() {
    const variables = { input: { contentId: post.id } };
    try {
      if (isReposted) {
        await unrepost({ variables });
        await refreshTimeline(client);
        return;
      }
      const { data } = await repost({
        variables,
        update: (cache, result) => {
          const edge = result.data?.repostContent?.timelineEdge;
          if (edge != null) addToTimeline(cache, [edge]);
        },
      });
      setRefusal(data?.repostContent?.userErrors[0]?.message ?? null);
    } catch (error) {
      setRefusal(describeFailure(error));
    }
  }

  return (
    <>
      <button type="button" className={isReposted ? "post-action on" : "post-action"} aria-pressed={isReposted}
        disabled={reposting.loading || unreposting.loading} onClick={() => { void toggle(); }} data-testid="repost">
        <Icon name="repost" /> {isReposted ? "Reposted" : "Repost"}
      </button>
      {refusal !== null && <span role="alert" className="field-error">{refusal}</span>}
    </>
  );
}
