// A post with what it answers above it and the replies below, oldest first.
import { useSession } from "@tidefeed/react";
import { useState } from "react";
import { ThreadDocument } from "../api/documents";
import { useRead } from "../api/useRead";
import { ErrorNotice } from "../parts/ErrorNotice";
import { PageHead } from "../parts/PageHead";
import { PostSkeletons } from "../parts/Skeletons";
import { signInPath } from "../routing";
import { NewPostsPill } from "../timeline/NewPostsPill";
import { NoSuchPost } from "./NoSuchPost";
import { MainPost, PostCard } from "./PostCard";
import { PostList } from "./PostList";
import { rememberedPost } from "./remembered";
import { ReplyForm } from "./ReplyForm";
import { useHeld } from "./useHeld";

export function ThreadPage({ id }: { id: string }) {
  const { signedIn } = useSession();
  const { data, error, loading, nextPage, refresh } = useRead(ThreadDocument, { id }, {
    outdatedBy: ({ event, published, changed }) => event?.__typename === "ContentRemoved" || published?.kind === "REPLY" || changed?.has(id) === true,
  });
  const post = data?.content;
  const answered = post?.replies?.edges.flatMap(({ node }) => node ?? []) ?? null;
  const held = useHeld(answered, nextPage);

  /** They stand at the end: that is where the reader goes. */
  function showNew() {
    const before = held.shown.length;
    held.show();
    requestAnimationFrame(() => { document.querySelectorAll<HTMLElement>("[data-testid=feed] > article")[before]?.focus(); });
  }

  const [remembered] = useState(() => rememberedPost(id));
  const again = () => { void refresh(); };
  if (post == null && remembered !== null && (loading || error !== null)) {
    return (
      <>
        <PageHead title="Thread" back />
        <div className="feed thread" data-testid="thread"><MainPost post={remembered} testId="thread-post" /></div>
        {loading ? <PostSkeletons count={2} label="Loading the thread" /> : <ErrorNotice title="The replies did not load" error={error} onRetry={again} />}
      </>
    );
  }
  if (post == null && loading) return <><PageHead title="Thread" back /><PostSkeletons count={3} label="Loading the thread" /></>;
  if (post == null && error !== null) {
    return <ErrorNotice title="The thread did not load" error={error} onRetry={again} />;
  }
  if (post == null) return <NoSuchPost />;
  const shown = post.repostOf ?? post;
  return (
    <>
      <title>{`${shown.author?.name ?? "Thread"}: ${shown.text.slice(0, 60)} · Tidefeed`}</title>
      <PageHead title="Thread" back isSticky={held.waiting > 0}>
        <NewPostsPill waiting={held.waiting} names={["new reply", "new replies"]} isBelow onShow={showNew} />
      </PageHead>
      <div className="feed thread" data-testid="thread">
        {(post.ancestors ?? []).map((above, index) => above === null
          ? <p key={index} className="post gone muted">This post is not available.</p>
          : <PostCard key={above.id} post={{ ...above, repostOf: null }} position={index + 1} total={-1} place="above" />)}
        <MainPost post={shown} testId="thread-post" />
      </div>
      {signedIn
        ? <ReplyForm contentId={post.id} to={shown.author?.handle} />
        : <p className="card guest-reply"><a className="button quiet" href={signInPath} data-testid="sign-in-to-reply">Sign in to reply</a></p>}
      {held.shown.length > 0 && <PostList label="Replies" posts={held.shown} nextPage={nextPage} end="No more replies." />}
    </>
  );
}
