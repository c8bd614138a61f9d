// Every document that the package sends.
import { credentials, ERRORS, input } from "./credentials.js";

const USER = "id handle name avatarUrl viewerIsFollowing isViewer";
const VIEWER = `${USER} bio followerCount followingCount contentCount timelineReadMarker`;
const ORIGINAL = `id kind subjectId text media { kind url width height alt } createdAt author { ${USER} }
  replyCount likeCount repostCount bookmarkCount inReplyTo { id author { ${USER} } }
  viewerHasLiked viewerHasBookmarked viewerHasReposted viewerIsAuthor`;
const CONTENT = `${ORIGINAL} repostOf { ${ORIGINAL} }`;
/** An entry of the timeline. */
export const EDGE = `cursor node { ${CONTENT} }`;
const RELATION = `${USER} followerCount followingCount viewerHasMuted viewerHasBlocked viewerIsHiding`;
const onUser = (field: string, type: string) => input(field, field, type, `user { ${RELATION} } ${ERRORS}`);
const onContent = (field: string, type: string) => input(field, field, type, `content { ${ORIGINAL} } ${ERRORS}`);

export const documents = {
  timeline: `query Timeline($first: Int, $after: String, $filter: TimelineFilter) {
    timeline(first: $first, after: $after, filter: $filter) { edges { ${EDGE} } pageInfo { hasNextPage endCursor } oldestCreatedAt resumeToken } }`,
  newFeed: `subscription NewFeed($after: String) {
    newFeed(after: $after, compares: true) { __typename
      ... on EntryAdded { timelineEdge { ${EDGE} } resumeToken } ... on ContentRemoved { contentId resumeToken } ... on AuthorRemoved { authorId resumeToken }
      ... on RelationChanged { user { id } viewerIsFollowing resumeToken } ... on ReadMarkerMoved { readMarker resumeToken }
      ... on TimelineMayDiffer { resumeToken } ... on RefetchNeeded { reason } } }`,
  newContentCount: "query NewContentCount($after: String!) { newContentCount(after: $after) { count isCapped } }",
  viewer: `query Viewer { viewer { ${VIEWER} } }`,
  user: `query User($handle: String!) { user(handle: $handle) { ${VIEWER} } }`,
  content: `query Content($id: ID!) { content(id: $id) { ${CONTENT} } }`,
  ...credentials,
  publishContent: input("Publish", "publishContent", "PublishContentInput", `timelineEdge { ${EDGE} } ${ERRORS}`),
  deleteContent: input("Delete", "deleteContent", "DeleteContentInput", `deletedContentId ${ERRORS}`),
  repostContent: input("Repost", "repostContent", "RepostContentInput", `timelineEdge { ${EDGE} } content { ${ORIGINAL} } ${ERRORS}`),
  unrepostContent: input("Unrepost", "unrepostContent", "UnrepostContentInput", `deletedContentId content { ${ORIGINAL} } ${ERRORS}`),
  likeContent: onContent("likeContent", "LikeContentInput"),
  unlikeContent: onContent("unlikeContent", "UnlikeContentInput"),
  bookmarkContent: onContent("bookmarkContent", "BookmarkContentInput"),
  unbookmarkContent: onContent("unbookmarkContent", "UnbookmarkContentInput"),
  followUser: onUser("followUser", "FollowUserInput"),
  unfollowUser: onUser("unfollowUser", "UnfollowUserInput"),
  muteUser: onUser("muteUser", "MuteUserInput"),
  unmuteUser: onUser("unmuteUser", "UnmuteUserInput"),
  hideFromFollower: onUser("hideFromFollower", "HideFromFollowerInput"),
  unhideFromFollower: onUser("unhideFromFollower", "UnhideFromFollowerInput"),
  blockUser: onUser("blockUser", "BlockUserInput"),
  unblockUser: onUser("unblockUser", "UnblockUserInput"),
  markTimelineRead: input("MarkRead", "markTimelineRead", "MarkTimelineReadInput", `readMarker ${ERRORS}`),
};
