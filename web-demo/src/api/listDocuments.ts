// The lists: who follows whom, who may be found and followed, who likes a post, what the viewer keeps.
import { graphql } from "../gql";

graphql(`
  fragment Person on User {
    id
    handle
    name
    bio
    avatarUrl
    viewerIsFollowing
    isViewer
  }
`);

graphql(`
  fragment People on UserConnection {
    edges { cursor node { ...Person } }
    pageInfo { hasNextPage endCursor }
  }
`);

export const FollowersDocument = graphql(`
  query Followers($handle: String!, $after: String) {
    user(handle: $handle) { id handle name isViewer followerCount followingCount people: followers(first: 20, after: $after) { ...People } }
  }
`);

export const FollowingDocument = graphql(`
  query Following($handle: String!, $after: String) {
    user(handle: $handle) { id handle name isViewer followerCount followingCount people: following(first: 20, after: $after) { ...People } }
  }
`);

export const LikersDocument = graphql(`
  query Likers($id: ID!, $after: String) {
    content(id: $id) {
      ...Post
      likers(first: 20, after: $after) { ...People }
    }
  }
`);

export const BookmarksDocument = graphql(`
  query Bookmarks($after: String) {
    viewer {
      id
      bookmarks(first: 20, after: $after) {
        edges { cursor node { ...Post } }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
`);

export const FoundPeopleDocument = graphql(`
  query FoundPeople($text: String!, $first: Int!, $after: String) {
    searchUsers(text: $text, first: $first, after: $after) {
      edges { cursor node { ...Person } }
      pageInfo { hasNextPage endCursor }
    }
  }
`);

export const SuggestedPeopleDocument = graphql(`
  query SuggestedPeople { suggestedUsers(first: 6) { ...Person } }
`);
