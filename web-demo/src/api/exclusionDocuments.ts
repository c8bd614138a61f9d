// The lists of whom the viewer has muted, hides from or has blocked.
import { graphql } from "../gql";

graphql(`
  fragment Standing on User {
    viewerHasMuted
    viewerHasBlocked
    viewerIsHiding
  }
`);

graphql(`
  fragment Excluded on ExcludedUserConnection {
    edges { cursor node { ...Person ...Standing } }
    pageInfo { hasNextPage endCursor }
  }
`);

export const MutedDocument = graphql(`
  query Muted($after: String) {
    viewer { id people: mutedUsers(first: 20, after: $after) { ...Excluded } }
  }
`);

export const HiddenDocument = graphql(`
  query Hidden($after: String) {
    viewer { id people: hiddenFollowers(first: 20, after: $after) { ...Excluded } }
  }
`);

export const BlockedDocument = graphql(`
  query Blocked($after: String) {
    viewer { id people: blockedUsers(first: 20, after: $after) { ...Excluded } }
  }
`);
