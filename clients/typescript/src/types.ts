// What the server answers to the package's documents. `tests/package.test.mjs` holds the documents against schema.graphql.

export type ContentKind = "POST" | "REPLY" | "REPOST";

export interface User {
  id: string;
  handle: string;
  name: string;
  avatarUrl: string | null;
  /** Null for the viewer themselves. */
  viewerIsFollowing: boolean | null;
  isViewer: boolean;
}

export interface Viewer extends User {
  bio: string;
  followerCount: number | null;
  followingCount: number | null;
  contentCount: number | null;
  /** Up to where they have read, on whatever device. */
  timelineReadMarker: string | null;
}

export interface Media {
  kind: "PICTURE" | "VIDEO";
  url: string;
  width: number | null;
  height: number | null;
  alt: string;
}

export interface ContentCounters {
  comments: number;
  likes: number;
  reposts: number;
  favourites: number;
}

/** A content without what it shows again. */
export interface Original {
  id: string;
  kind: ContentKind;
  /** What it shows: of a repost its original, of anything else itself. */
  subjectId: string;
  text: string;
  media: Media[];
  /** RFC 3339, in UTC. */
  publishTime: string;
  author: User | null;
  counters: ContentCounters | null;
  inReplyTo: { id: string; author: User | null } | null;
  viewerHasLiked: boolean | null;
  viewerHasFavourited: boolean | null;
  viewerHasReposted: boolean | null;
  viewerIsAuthor: boolean;
}

export interface Content extends Original {
  /** What a repost shows; null if it is none, or if that cannot be shown (any more). */
  repostOf: Original | null;
}

export interface Edge {
  cursor: string;
  node: Content | null;
}

export interface Page {
  edges: Edge[];
  pageInfo: { hasNextPage: boolean; endCursor: string | null };
  oldestTime: string | null;
  resumeToken: string | null;
}

/** A change of the timeline, as `newFeed` tells it. */
export interface FeedEvent {
  timelineEdge: Edge | null;
  removedContentId: string | null;
  removedAuthorId: string | null;
  relationChange: { user: { id: string } | null; viewerIsFollowing: boolean } | null;
  readMarker: string | null;
  refetch: boolean;
  refetchReason: string | null;
  resumeToken: string | null;
}

/** Why a mutation was refused, for people (`message`) and programs (`code`, `field`). */
export interface UserError {
  message: string;
  code: string;
  field: string[] | null;
}

export interface Tokens {
  token: string;
  /** RFC 3339. */
  expiresAt: string;
  /** Good once. Whoever has it is the user. */
  refreshToken: string;
}

export interface MediaInput {
  kind: "PICTURE" | "VIDEO";
  url: string;
  width?: number | null;
  height?: number | null;
  alt?: string | null;
}

export interface Draft {
  text: string;
  media?: MediaInput[];
  /** The id of what it answers. */
  replyTo?: string;
}
