// What keeps the viewer and others apart: muting, hiding, blocking, and the lists of whom that concerns.
import { graphql } from "../gql";

graphql(`
  fragment Standing on User {
    viewerHasMuted
    viewerHasBlocked
    viewerIsHiding
  }
`);

graphql(`
  fragment Bounded on BoundaryPayload {
    user { id viewerIsFollowing followerCount followingCount ...Standing }
    viewer { id followerCount followingCount }
    userErrors { message code field }
  }
`);

graphql(`
  fragment Excluded on ExcludedUserConnection {
    edges { cursor node { ...Person ...Standing } }
    pageInfo { hasNextPage endCursor }
  }
`);

export const MuteDocument = graphql(`mutation Mute($input: BoundaryInput!) { bounded: muteUser(input: $input) { ...Bounded } }`);
export const UnmuteDocument = graphql(`mutation Unmute($input: BoundaryInput!) { bounded: unmuteUser(input: $input) { ...Bounded } }`);
export const HideDocument = graphql(`mutation Hide($input: BoundaryInput!) { bounded: hideFromFollower(input: $input) { ...Bounded } }`);
export const UnhideDocument = graphql(`mutation Unhide($input: BoundaryInput!) { bounded: unhideFromFollower(input: $input) { ...Bounded } }`);
export const BlockDocument = graphql(`mutation Block($input: BoundaryInput!) { bounded: blockUser(input: $input) { ...Bounded } }`);
export const UnblockDocument = graphql(`mutation Unblock($input: BoundaryInput!) { bounded: unblockUser(input: $input) { ...Bounded } }`);

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
