// A post with what it answers above it and the replies below, oldest first.
import { useApolloClient, useQuery } from "@apollo/client/react";
import { ThreadDocument } from "../api/documents";
import { readPage } from "../api/endlessConnection";
import { ErrorNotice } from "../parts/ErrorNotice";
import { PostSkeletons } from "../parts/Skeletons";
import { NoSuchPost } from "./NoSuchPost";
import { CardBody } from "./PostCard";
import { PostList } from "./PostList";
import { ReplyForm } from "./ReplyForm";
import { useNextPage } from "./useNextPage";

export function ThreadPage({ id }: { id: string }) {
  const client = useApolloClient();
  const { data, error, loading, refetch } = useQuery(ThreadDocument, { variables: { id }, fetchPolicy: "cache-and-network", nextFetchPolicy: "cache-first" });
  const post = data?.content;
  const replies = post?.replies;
  const nextPage = useNextPage(replies?.pageInfo, (after) => readPage(client, ThreadDocument, { id, after }));

  if (post == null && loading) return <PostSkeletons count={3} label="Loading the thread" />;
  if (post == null && error !== undefined) {
    return <ErrorNotice title="The thread did not load" error={error} onRetry={() => { void refetch(); }} />;
  }
  if (post == null) return <NoSuchPost />;
  const answered = (replies?.edges ?? []).flatMap(({ node }) => node ?? []);
  return (
    <>
      <title>Thread · Tidefeed</title>
      <div className="page-head"><h1>Thread</h1></div>
      <div className="feed thread" data-testid="thread">
        {(post.ancestors ?? []).map((above, index) => above === null
          ? <p key={index} className="post gone muted">This post is not available.</p>
          : <article key={above.id} className="post above"><CardBody post={above} /></article>)}
        <article className="post main" data-testid="thread-post"><CardBody post={post.repostOf ?? post} /></article>
      </div>
      <ReplyForm contentId={post.id} onSent={() => refetch()} />
      {answered.length > 0 && <PostList label="Replies" posts={answered} nextPage={nextPage} end="No more replies." />}
    </>
  );
}
