// The queries for contents and people. Types come from ../../../schema.graphql by `npm run codegen`; what the package asks for by itself is not here.
import { graphql } from "../gql";

graphql(`
  fragment Author on User {
    id
    handle
    name
    avatarUrl
    viewerIsFollowing
    isViewer
  }
`);

graphql(`
  fragment Card on Content {
    id
    kind
    subjectId
    text
    createdAt
    viewerIsAuthor
    viewerHasReposted
    viewerHasLiked
    viewerHasBookmarked
    media { kind url width height alt }
    author { ...Author }
    replyCount likeCount repostCount bookmarkCount
    inReplyTo { id author { ...Author } }
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

export const ProfileDocument = graphql(`
  query ProfilePage($handle: String!, $after: String, $filter: TimelineFilter) {
    user(handle: $handle) {
      ...Profile
      ...Standing
      contents(first: 20, after: $after, filter: $filter) {
        edges { cursor node { ...Post } }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
`);

export const ProfileMediaDocument = graphql(`
  query ProfileMedia($handle: String!, $after: String) {
    user(handle: $handle) {
      ...Profile
      ...Standing
      contents: mediaContents(first: 20, after: $after) {
        edges { cursor node { ...Post } }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
`);

export const ProfileLikesDocument = graphql(`
  query ProfileLikes($handle: String!, $after: String) {
    user(handle: $handle) {
      ...Profile
      ...Standing
      contents: likes(first: 20, after: $after) {
        edges { cursor node { ...Post } }
        pageInfo { hasNextPage endCursor }
      }
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
