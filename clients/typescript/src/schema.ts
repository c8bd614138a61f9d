// Generated from schema.graphql by scripts/types.mjs: `npm run types` writes it anew.

export type ContentKind = "POST" | "REPLY" | "REPOST";

export type MediaKind = "PICTURE" | "VIDEO";

export type RefetchReason = "GAP_TOO_LARGE" | "FOLLOWS_CHANGED" | "MISSED";

export type UserErrorCode = "INVALID" | "TOO_LONG" | "TAKEN" | "NOT_FOUND" | "NOT_ALLOWED" | "WRONG_CREDENTIALS" | "CONFLICT" | "TOO_MANY_ATTEMPTS" | "SESSION_ENDED";

export interface User {
  /** Opaque; begins with U_. */
  id: string;
  /** The unique name, without @. */
  handle: string;
  /** The name to show. */
  name: string;
  /** A link to a picture, if they have one. */
  avatarUrl: string | null;
  /** Whether the viewer follows them. */
  viewerIsFollowing: boolean | null;
  /** Whether the user is the viewer. */
  isViewer: boolean;
}

export interface Viewer {
  /** Opaque; begins with U_. */
  id: string;
  /** The unique name, without @. */
  handle: string;
  /** The name to show. */
  name: string;
  /** A link to a picture, if they have one. */
  avatarUrl: string | null;
  /** Whether the viewer follows them. */
  viewerIsFollowing: boolean | null;
  /** Whether the user is the viewer. */
  isViewer: boolean;
  /** The biography; may be empty. */
  bio: string;
  /** The number of followers. */
  followerCount: number | null;
  /** The number of followed users. */
  followingCount: number | null;
  /** The number of contents that they published and did not delete. */
  contentCount: number | null;
  /** The position up to which they have read their timeline, on any device; valid as `after` of `newContentCount`. */
  timelineReadMarker: string | null;
}

export interface Media {
  /** The type of the medium. */
  kind: MediaKind;
  /** The URL; starts with https:// or http://. */
  url: string;
  /** In pixels, if the author has given it. */
  width: number | null;
  /** In pixels, if the author has given it. */
  height: number | null;
  /** The alternative text; empty if its author gave none. */
  alt: string;
}

export interface Original {
  /** Opaque; begins with C_. */
  id: string;
  /** Whether it is a post, a reply or a repost. */
  kind: ContentKind;
  /** For a repost, the id of its original, even if that was deleted; otherwise its own id. */
  subjectId: string;
  /** The text; empty if it has media only. */
  text: string;
  /** Its pictures and videos, in the author's order. */
  media: Media[];
  /** When it was published. */
  createdAt: string;
  /** Who published it. */
  author: User | null;
  /** The number of its direct replies that were not deleted. */
  replyCount: number | null;
  /** The number of users who like it. */
  likeCount: number | null;
  /** The number of users who have reposted it. */
  repostCount: number | null;
  /** The number of users who have bookmarked it. */
  bookmarkCount: number | null;
  /** The content that a reply answers. */
  inReplyTo: { id: string; author: User | null } | null;
  /** Whether the viewer likes it. */
  viewerHasLiked: boolean | null;
  /** Whether the viewer has bookmarked it. */
  viewerHasBookmarked: boolean | null;
  /** Whether the viewer has reposted it; for a repost, whether the viewer has reposted its original. */
  viewerHasReposted: boolean | null;
  /** Whether the viewer has published it, and so may delete it. */
  viewerIsAuthor: boolean;
}

export interface Content {
  /** Opaque; begins with C_. */
  id: string;
  /** Whether it is a post, a reply or a repost. */
  kind: ContentKind;
  /** For a repost, the id of its original, even if that was deleted; otherwise its own id. */
  subjectId: string;
  /** The text; empty if it has media only. */
  text: string;
  /** Its pictures and videos, in the author's order. */
  media: Media[];
  /** When it was published. */
  createdAt: string;
  /** Who published it. */
  author: User | null;
  /** The number of its direct replies that were not deleted. */
  replyCount: number | null;
  /** The number of users who like it. */
  likeCount: number | null;
  /** The number of users who have reposted it. */
  repostCount: number | null;
  /** The number of users who have bookmarked it. */
  bookmarkCount: number | null;
  /** The content that a reply answers. */
  inReplyTo: { id: string; author: User | null } | null;
  /** Whether the viewer likes it. */
  viewerHasLiked: boolean | null;
  /** Whether the viewer has bookmarked it. */
  viewerHasBookmarked: boolean | null;
  /** Whether the viewer has reposted it; for a repost, whether the viewer has reposted its original. */
  viewerHasReposted: boolean | null;
  /** Whether the viewer has published it, and so may delete it. */
  viewerIsAuthor: boolean;
  /** The reposted content; never itself a repost. */
  repostOf: Original | null;
}

export interface Edge {
  /** Opaque and permanent. */
  cursor: string;
  /** The content. */
  node: Content | null;
}

export interface Page {
  /** The entries with their cursors. */
  edges: Edge[];
  /** Whether and how to read on. */
  pageInfo: { hasNextPage: boolean; endCursor: string | null };
  /** `createdAt` of the oldest entry on the page, folded entries included. */
  oldestCreatedAt: string | null;
  /** What a client holds after this page. */
  resumeToken: string | null;
}

export interface EntryAdded {
  __typename: "EntryAdded";
  /** The entry. */
  timelineEdge: Edge;
  /** What the client holds after this event. */
  resumeToken: string | null;
}

export interface ContentRemoved {
  __typename: "ContentRemoved";
  /** The id of the content. */
  contentId: string;
  /** Where to resume; see `EntryAdded.resumeToken`. */
  resumeToken: string | null;
}

export interface AuthorRemoved {
  __typename: "AuthorRemoved";
  /** The id of the author. */
  authorId: string;
  /** Where to resume; see `EntryAdded.resumeToken`. */
  resumeToken: string | null;
}

export interface RelationChanged {
  __typename: "RelationChanged";
  /** The other user. */
  user: { id: string } | null;
  /** Whether the viewer follows them now. */
  viewerIsFollowing: boolean;
  /** Where to resume; see `EntryAdded.resumeToken`. */
  resumeToken: string | null;
}

export interface ReadMarkerMoved {
  __typename: "ReadMarkerMoved";
  /** The cursor up to which the viewer has read. */
  readMarker: string;
  /** Where to resume; see `EntryAdded.resumeToken`. */
  resumeToken: string | null;
}

export interface TimelineMayDiffer {
  __typename: "TimelineMayDiffer";
  /** Where to resume; see `EntryAdded.resumeToken`. */
  resumeToken: string | null;
}

export interface RefetchNeeded {
  __typename: "RefetchNeeded";
  /** The reason. */
  reason: RefetchReason;
}

export type FeedEvent = EntryAdded | ContentRemoved | AuthorRemoved | RelationChanged | ReadMarkerMoved | TimelineMayDiffer | RefetchNeeded;

export interface UserError {
  /** A sentence for people, in English. */
  message: string;
  /** The code for programs. */
  code: UserErrorCode;
  /** The path to the faulty argument, such as `["input", "handle"]`. */
  field: string[] | null;
}

export interface MediaInput {
  /** The type of the medium. */
  kind: MediaKind;
  /** The URL; starts with https:// or http://, at most 2048 characters. */
  url: string;
  /** In pixels, 1 to 100000. */
  width?: number | null;
  /** In pixels, 1 to 100000. */
  height?: number | null;
  /** The alternative text, at most 1000 characters. */
  alt?: string | null;
}
