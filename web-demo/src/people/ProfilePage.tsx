// A user: who they are, the follow button, and what they have published, of all kinds, of one or with pictures; to themselves also what they like.
import { useState } from "react";
import { useRead } from "../api/useRead";
import { ProfileDocument, ProfileLikesDocument, ProfileMediaDocument } from "../api/documents";
import { KindTabs, LIST_NAMES } from "../content/KindTabs";
import { PostList } from "../content/PostList";
import { rememberedPerson } from "../content/remembered";
import { useHeld } from "../content/useHeld";
import type { ProfilePageQuery, ProfilePageQueryVariables, TypedDocumentString } from "../gql/graphql";
import { EmptyState } from "../parts/EmptyState";
import { ErrorNotice } from "../parts/ErrorNotice";
import { PostSkeletons } from "../parts/Skeletons";
import { PROFILE_LISTS, type ProfileList, profileListPath, profilePath, timelinePath } from "../routing";
import { NewPostsPill } from "../timeline/NewPostsPill";
import { NoSuchUser } from "./NoSuchUser";
import { ProfileHeader, RememberedHeader } from "./ProfileHeader";

type Shown = NonNullable<ProfilePageQuery["user"]>;

function NothingThere({ user, list }: { user: Shown; list: ProfileList }) {
  if (list === "LIKES") {
    return (
      <EmptyState title="No likes yet" testId="empty-profile">
        <p>Press the heart below a post <a href={timelinePath}>on your timeline</a> to find it here later.</p>
      </EmptyState>
    );
  }
  if (user.viewerHasBlocked === true) return <EmptyState title="Nothing to see here" testId="empty-profile">{null}</EmptyState>;
  if (list !== "EVERYTHING") {
    return (
      <EmptyState title={list === "MEDIA" ? "No pictures or videos yet" : `No ${LIST_NAMES[list].toLowerCase()} yet`} testId="empty-profile">
        <p><a href={profilePath(user.handle)}>See everything</a> of <bdi>{user.name}</bdi> instead.</p>
      </EmptyState>
    );
  }
  return (
    <EmptyState title="Nothing published yet" testId="empty-profile">
      {user.isViewer
        ? <p><a href={timelinePath}>Write your first post</a>: it shows up here and on your followers’ timelines.</p>
        : <p>Follow <bdi>{user.name}</bdi>, and their first post shows up on your timeline.</p>}
    </EmptyState>
  );
}

function documentOf(list: ProfileList): TypedDocumentString<ProfilePageQuery, ProfilePageQueryVariables> {
  if (list === "LIKES") return ProfileLikesDocument;
  return list === "MEDIA" ? ProfileMediaDocument : ProfileDocument;
}

function useProfile(handle: string, list: ProfileList) {
  const isOfOneKind = list !== "EVERYTHING" && list !== "MEDIA" && list !== "LIKES";
  const variables = isOfOneKind ? { handle, filter: { kinds: [list] } } : { handle };
  return useRead(documentOf(list), variables, {
    // What they have published has changed, or whether the viewer may see it. What is liked no more stays until the next visit.
    outdatedBy: ({ published, event, user }) => user?.handle === handle || (list !== "LIKES" && (published != null || event?.__typename === "EntryAdded")),
  });
}

export function ProfilePage({ handle, list }: { handle: string; list: ProfileList }) {
  const { data, error, loading, nextPage, refresh } = useProfile(handle, list);
  // Who they are stays in place while another kind is read.
  const [known, setKnown] = useState<Shown | null>(null);
  if (data?.user != null && data.user !== known) setKnown(data.user);
  const user = data === null ? known : data.user;
  const contents = data?.user?.contents;
  const published = contents?.edges.flatMap(({ node }) => node ?? []) ?? null;
  const { shown: posts, waiting, show } = useHeld(published, nextPage, list);

  const [remembered] = useState(() => rememberedPerson(handle));
  const again = () => { void refresh(); };
  if (user == null && remembered !== null && (loading || error !== null)) {
    return (
      <>
        <RememberedHeader user={remembered} />
        {loading ? <PostSkeletons count={5} label="Loading the profile" /> : <ErrorNotice title="The posts did not load" error={error} onRetry={again} />}
      </>
    );
  }
  if (user == null && loading) return <PostSkeletons count={5} label="Loading the profile" />;
  if (user == null && error !== null) {
    return <ErrorNotice title="The profile did not load" error={error} onRetry={again} />;
  }
  if (user == null) return <NoSuchUser handle={handle} />;
  const isPrivate = list === "LIKES" && !user.isViewer;
  const kind = list === "EVERYTHING" ? "Posts" : LIST_NAMES[list];
  return (
    <>
      <title>{`${list === "EVERYTHING" ? "" : `${kind} of `}${user.name} (@${user.handle}) · Tidefeed`}</title>
      <ProfileHeader user={user} />
      <KindTabs label={`What of ${user.name} is shown`} lists={PROFILE_LISTS.filter((one) => one !== "LIKES" || user.isViewer)} list={list}
        pathOf={(one) => profileListPath(user.handle, one)} />
      {waiting > 0 && <div className="page-head sticky"><NewPostsPill waiting={waiting} onShow={() => { show(); window.scrollTo(0, 0); }} /></div>}
      {isPrivate && (
        <EmptyState title="Nobody sees what others like" testId="private-likes">
          <p><a href={profilePath(user.handle)}>See everything</a> of <bdi>{user.name}</bdi> instead.</p>
        </EmptyState>
      )}
      {list === "LIKES" && user.isViewer && <p className="muted list-note">Only you see what you like.</p>}
      {contents == null && loading && <PostSkeletons count={4} label={`Loading ${kind.toLowerCase()}`} />}
      {contents == null && !loading && !isPrivate && <ErrorNotice title="The posts did not load" error={error} onRetry={() => { void refresh(); }} />}
      {contents != null && posts.length === 0 && !nextPage.exists && <NothingThere user={user} list={list} />}
      <PostList key={list} label={`${kind} of ${user.name}`} posts={posts} nextPage={nextPage} />
    </>
  );
}
