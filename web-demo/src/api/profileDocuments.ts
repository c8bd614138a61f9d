// What a profile lets one change: one's own words, and how much one sees of somebody else.
import { graphql } from "../gql";

graphql(`
  fragment Standing on User {
    viewerHasMuted
    viewerHasBlocked
  }
`);

graphql(`
  fragment Bounded on BoundaryPayload {
    user { id viewerIsFollowing followerCount followingCount ...Standing }
    viewer { id followerCount followingCount }
    userErrors { message code field }
  }
`);

export const MuteDocument = graphql(`mutation Mute($input: BoundaryInput!) { muteUser(input: $input) { ...Bounded } }`);
export const UnmuteDocument = graphql(`mutation Unmute($input: BoundaryInput!) { unmuteUser(input: $input) { ...Bounded } }`);
export const BlockDocument = graphql(`mutation Block($input: BoundaryInput!) { blockUser(input: $input) { ...Bounded } }`);
export const UnblockDocument = graphql(`mutation Unblock($input: BoundaryInput!) { unblockUser(input: $input) { ...Bounded } }`);

export const UpdateProfileDocument = graphql(`
  mutation UpdateProfile($input: UpdateProfileInput!) {
    updateProfile(input: $input) {
      user { id name bio avatarUrl }
      userErrors { message code field }
    }
  }
`);
