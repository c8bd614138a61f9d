// What the viewer takes along of their account: each list page by page, as the API gives it.
import { graphql } from "../gql";

export const ExportProfileDocument = graphql(`
  query ExportProfile {
    viewer {
      id handle name bio avatarUrl createdAt followerCount followingCount contentCount timelineReadMarker
      attributes { key value }
      sessions { createdAt lastUsedAt expiresAt userAgent }
    }
  }
`);

export const ExportContentsDocument = graphql(`
  query ExportContents($after: String) {
    viewer {
      list: contents(first: 50, after: $after) {
        nodes {
          id kind text publishTime
          media { kind url width height alt }
          inReplyTo { id }
          repostOf { id }
          counters { comments likes reposts }
        }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
`);

export const ExportBookmarksDocument = graphql(`
  query ExportBookmarks($after: String) {
    viewer {
      list: favourites(first: 50, after: $after) {
        edges { since node { id text publishTime author { id handle name } } }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
`);

export const ExportLikesDocument = graphql(`
  query ExportLikes($after: String) {
    viewer {
      list: likes(first: 50, after: $after) {
        edges { since node { id text publishTime author { id handle name } } }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
`);

export const ExportFollowingDocument = graphql(`
  query ExportFollowing($after: String) {
    viewer { list: following(first: 100, after: $after) { edges { since node { id handle name } } pageInfo { hasNextPage endCursor } } }
  }
`);

export const ExportFollowersDocument = graphql(`
  query ExportFollowers($after: String) {
    viewer { list: followers(first: 100, after: $after) { edges { since node { id handle name } } pageInfo { hasNextPage endCursor } } }
  }
`);

export const ExportMutedDocument = graphql(`
  query ExportMuted($after: String) {
    viewer { list: mutedUsers(first: 100, after: $after) { nodes { id handle name } pageInfo { hasNextPage endCursor } } }
  }
`);

export const ExportBlockedDocument = graphql(`
  query ExportBlocked($after: String) {
    viewer { list: blockedUsers(first: 100, after: $after) { nodes { id handle name } pageInfo { hasNextPage endCursor } } }
  }
`);

export const ExportHiddenDocument = graphql(`
  query ExportHidden($after: String) {
    viewer { list: hiddenFollowers(first: 100, after: $after) { nodes { id handle name } pageInfo { hasNextPage endCursor } } }
  }
`);
