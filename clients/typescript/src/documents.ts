// Every document that the package sends.
import { credentials, ERRORS, input } from "./credentials.js";

const USER = "id handle name avatarUrl viewerIsFollowing isViewer";
const VIEWER = `${USER} bio followerCount followingCount contentCount timelineReadMarker`;
/** A content without what it repeats. */
export const ORIGINAL = `id kind subjectId text media { kind url width height alt } createdAt author { ${USER} }
  replyCount likeCount repostCount bookmarkCount inReplyTo { id author { ${USER} } }
  viewerHasLiked viewerHasBookmarked viewerHasReposted viewerIsAuthor`;
const CONTENT = `${ORIGINAL} repostOf { ${ORIGINAL} }`;
/** An entry of the timeline. */
export const EDGE = `cursor node { ${CONTENT} }`;
/** A user, and what is between them and the viewer. */
export const RELATION = `${USER} followerCount followingCount viewerHasMuted viewerHasBlocked viewerIsHiding`;
/** Mutations that answer alike, by their fields. */
const answering = <Field extends string>(selection: string, ...fields: Field[]) =>
  Object.fromEntries(fields.map((field) => [field, input(field, `${selection} ${ERRORS}`)])) as Record<Field, string>;

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
  ...answering(`timelineEdge { ${EDGE} }`, "publishContent"),
  ...answering("deletedContentId", "deleteContent"),
  ...answering(`timelineEdge { ${EDGE} } content { ${ORIGINAL} }`, "repostContent"),
  ...answering(`deletedContentId content { ${ORIGINAL} }`, "unrepostContent"),
  ...answering(`content { ${ORIGINAL} }`, "likeContent", "unlikeContent", "bookmarkContent", "unbookmarkContent"),
  ...answering(`user { ${RELATION} }`, "followUser", "unfollowUser", "muteUser", "unmuteUser", "hideFromFollower", "unhideFromFollower", "blockUser", "unblockUser"),
  ...answering("readMarker", "markTimelineRead"),
};
