// Every operation that the page sends, but for the lists in listDocuments.ts what keeps people apart in boundaryDocuments.ts one's own profile in profileDocuments.ts and one's account in accountDocuments.ts. Types come from ../../../schema.graphql by `npm run codegen`.
import { graphql } from "../gql";

graphql(`
  fragment Card on Content {
    id
    kind
    subjectId
    text
    publishTime
    viewerIsAuthor
    viewerHasReposted
    viewerHasLiked
    viewerHasFavourited
    media { kind url width height alt }
    author { id handle name avatarUrl }
    counters { comments likes reposts favourites }
    inReplyTo { id author { id handle } }
  }
`);

graphql(`
  fragment Post on Content {
    ...Card
    repostOf { ...Card }
  }
`);

graphql(`
  fragment Profile on User {
    id
    handle
    name
    bio
    avatarUrl
    createdAt
    followerCount
    followingCount
    contentCount
    viewerIsFollowing
    isViewer
  }
`);

export const ViewerDocument = graphql(`
  query Viewer {
    viewer { ...Profile }
  }
`);

export const TimelineDocument = graphql(`
  query Timeline($after: String, $filter: TimelineFilter) {
    timeline(first: 20, after: $after, filter: $filter) {
      edges { cursor node { ...Post } }
      pageInfo { hasNextPage endCursor }
      oldestTime
      resumeToken
    }
  }
`);

export const NewCountDocument = graphql(`
  query NewCount($after: String!) {
    newContentCount(after: $after) { count isCapped }
  }
`);

export const NewFeedDocument = graphql(`
  subscription NewFeed($after: String) {
    newFeed(after: $after) {
      timelineEdge { cursor node { ...Post } }
      removedContentId
      removedAuthorId
      relationChange { viewerIsFollowing user { id viewerIsFollowing } }
      readMarker
      refetch
      resumeToken
    }
  }
`);

export const ProfileDocument = graphql(`
  query ProfilePage($handle: String!, $after: String) {
    user(handle: $handle) {
      ...Profile
      ...Standing
      contents(first: 20, after: $after) {
        edges { cursor node { ...Post } }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
`);

export const FindUserDocument = graphql(`query FindUser($handle: String!) { user(handle: $handle) { ...Profile } }`);

export const RegisterDocument = graphql(`
  mutation Register($input: RegisterUserInput!) {
    registerUser(input: $input) {
      user { id handle }
      token
      expiresAt
      refreshToken
      userErrors { message code field }
    }
  }
`);

export const SignInDocument = graphql(`
  mutation SignIn($input: SignInInput!) {
    signIn(input: $input) {
      user { id handle }
      token
      expiresAt
      refreshToken
      retryAt
      userErrors { message code field }
    }
  }
`);

export const PublishDocument = graphql(`
  mutation Publish($input: PublishContentInput!) {
    publishContent(input: $input) {
      timelineEdge { cursor node { ...Post author { id contentCount } } }
      userErrors { message code field }
    }
  }
`);

export const ThreadDocument = graphql(`
  query Thread($id: ID!, $after: String) {
    content(id: $id) {
      ...Post
      ancestors { ...Card }
      replies(first: 20, after: $after) {
        edges { cursor node { ...Post } }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
`);

export const RepostDocument = graphql(`
  mutation Repost($input: RepostContentInput!) {
    repostContent(input: $input) {
      timelineEdge { cursor node { ...Post } }
      content { ...Card }
      userErrors { message code field }
    }
  }
`);

export const UnrepostDocument = graphql(`
  mutation Unrepost($input: UnrepostContentInput!) {
    unrepostContent(input: $input) {
      deletedContentId
      content { ...Card }
      userErrors { message code field }
    }
  }
`);

export const DeleteDocument = graphql(`
  mutation Delete($input: DeleteContentInput!) {
    deleteContent(input: $input) {
      deletedContentId
      userErrors { message code field }
    }
  }
`);

export const FollowDocument = graphql(`
  mutation Follow($input: FollowUserInput!) {
    followUser(input: $input) {
      user { id viewerIsFollowing followerCount }
      viewer { id followingCount }
      userErrors { message code field }
    }
  }
`);

export const UnfollowDocument = graphql(`
  mutation Unfollow($input: UnfollowUserInput!) {
    unfollowUser(input: $input) {
      user { id viewerIsFollowing followerCount }
      viewer { id followingCount }
      userErrors { message code field }
    }
  }
`);

graphql(`
  fragment Reacted on Content {
    id
    viewerHasLiked
    viewerHasFavourited
    counters { comments likes reposts favourites }
  }
`);

export const LikeDocument = graphql(`
  mutation Like($input: LikeContentInput!) {
    likeContent(input: $input) {
      content { ...Reacted }
      userErrors { message code field }
    }
  }
`);

export const UnlikeDocument = graphql(`
  mutation Unlike($input: UnlikeContentInput!) {
    unlikeContent(input: $input) {
      content { ...Reacted }
      userErrors { message code field }
    }
  }
`);

export const FavouriteDocument = graphql(`
  mutation Favourite($input: FavouriteContentInput!) {
    favouriteContent(input: $input) {
      content { ...Reacted }
      userErrors { message code field }
    }
  }
`);

export const UnfavouriteDocument = graphql(`
  mutation Unfavourite($input: UnfavouriteContentInput!) {
    unfavouriteContent(input: $input) {
      content { ...Reacted }
      userErrors { message code field }
    }
  }
`);

export const ReadMarkerDocument = graphql(`
  query ReadMarker {
    viewer { id timelineReadMarker }
  }
`);

export const MarkTimelineReadDocument = graphql(`
  mutation MarkTimelineRead($input: MarkTimelineReadInput!) {
    markTimelineRead(input: $input) { readMarker }
  }
`);
