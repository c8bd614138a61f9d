// What the viewer does: shown at once, sent, sent again where that is safe, and taken back if it is refused or fails.
import { documents } from "./documents.js";
import type { Fact, Hub, Intent } from "./hub.js";
import type { Send } from "./request.js";
import type { Content, Draft, Edge, MediaInput, Original, User, UserError } from "./types.js";
import { freshKey } from "./waiting.js";

/** Each resolves with the reasons of a refusal: with none if it was done. Rejects with a RequestError if nobody knows. Either way nothing stays shown that is not. */
export interface Actions {
  /** `content.id`, also that of a repost's original. */
  like: (contentId: string) => Promise<UserError[]>;
  unlike: (contentId: string) => Promise<UserError[]>;
  bookmark: (contentId: string) => Promise<UserError[]>;
  unbookmark: (contentId: string) => Promise<UserError[]>;
  /** `content.subjectId`: of a repost that of its original. */
  repost: (subjectId: string) => Promise<UserError[]>;
  unrepost: (subjectId: string) => Promise<UserError[]>;
  publish: (draft: Draft) => Promise<UserError[]>;
  remove: (contentId: string) => Promise<UserError[]>;
  follow: (userId: string) => Promise<UserError[]>;
  unfollow: (userId: string) => Promise<UserError[]>;
  mute: (userId: string) => Promise<UserError[]>;
  unmute: (userId: string) => Promise<UserError[]>;
  /** Nothing of the viewer's is in their timeline any more. */
  hide: (userId: string) => Promise<UserError[]>;
  unhide: (userId: string) => Promise<UserError[]>;
  block: (userId: string) => Promise<UserError[]>;
  unblock: (userId: string) => Promise<UserError[]>;
}

interface Payload {
  userErrors: UserError[];
  content?: Original | null;
  user?: User | null;
  timelineEdge?: Edge | null;
  deletedContentId?: string | null;
}

type Count = "likeCount" | "repostCount" | "bookmarkCount";
const NOTHING_COUNTED = { replyCount: 0, likeCount: 0, repostCount: 0, bookmarkCount: 0 };

const isBy = (id: string) => ({ author, repostOf }: Content) => author?.id === id || repostOf?.author?.id === id;

/** A switch of a content, with the count that goes with it, if that is known. What is so already stays. */
function switched(id: string, flag: "viewerHasLiked" | "viewerHasBookmarked" | "viewerHasReposted", counted: Count, on: boolean) {
  return (content: Original): Original => {
    if (content.id !== id) return flag === "viewerHasReposted" && content.subjectId === id ? { ...content, [flag]: on } : content;
    if (content[flag] === on) return content;
    const count = content[counted];
    return { ...content, [flag]: on, [counted]: count === null ? null : Math.max(0, count + (on ? 1 : -1)) };
  };
}

/** An entry as it will stand, of which the server has not spoken yet. */
function draftOf(key: string, made: Partial<Content>, author: User | null): Content {
  const id = `draft:${key}`;
  return {
    id, kind: "POST", subjectId: id, text: "", media: [], createdAt: new Date().toISOString(), author, ...NOTHING_COUNTED, inReplyTo: null,
    viewerHasLiked: false, viewerHasBookmarked: false, viewerHasReposted: false, viewerIsAuthor: true, repostOf: null, ...made,
  };
}

const mediaOf = ({ kind, url, width = null, height = null, alt }: MediaInput) => ({ kind, url, width, height, alt: alt ?? "" });

/** `viewer` as far as they are known. */
export function createActions(send: Send, hub: Hub, viewer: () => User | null): Actions {
  const turns = new Map<string, Promise<unknown>>();

  /** One after the other for each `subject`, so that the last word is the last one said. */
  async function change(subject: string, field: keyof typeof documents, input: object, intent: Intent, fact: (payload: Payload) => Fact) {
    hub.add(intent);
    const before = turns.get(subject);
    const work = (async () => {
      await before?.catch(() => {});
      const data = await send<Record<string, Payload | null>>(documents[field], { input }, { safe: true });
      const payload = data[field];
      if (payload == null) throw new Error("The server gave no answer.");
      if (payload.userErrors.length > 0) return payload.userErrors;
      // What has come live is known better there: it may have left again.
      const { event, ...others } = fact(payload);
      const isKnown = event?.__typename === "EntryAdded" && intent.draft === undefined;
      intent.draft = undefined;
      hub.tell(event === undefined || isKnown ? others : { ...others, event });
      return payload.userErrors;
    })();
    turns.set(subject, work);
    try {
      return await work;
    } catch (error) {
      hub.tell({ isInDoubt: true }); // Nobody knows whether it was done.
      throw error;
    } finally {
      hub.remove(intent);
      if (turns.get(subject) === work) turns.delete(subject);
    }
  }

  const reaction = (field: keyof typeof documents, flag: "viewerHasLiked" | "viewerHasBookmarked", counted: Count, on: boolean) => (contentId: string) =>
    change(`${flag} ${contentId}`, field, { contentId }, { content: switched(contentId, flag, counted, on) }, ({ content = null }) => ({ content }));

  const relation = (field: keyof typeof documents, intentOf: (userId: string) => Intent, factOf: (userId: string) => Fact) => (userId: string) =>
    change(userId, field, { userId }, intentOf(userId), ({ user = null }) => ({ user, ...factOf(userId) }));
  const following = (userId: string, is: boolean) => (user: User) => (user.id === userId ? { ...user, viewerIsFollowing: is } : user);
  const leaves = (userId: string): Fact => ({ event: { __typename: "AuthorRemoved", authorId: userId }, isInDoubt: true });
  const added = (timelineEdge: Edge | null | undefined): Fact => (timelineEdge == null ? {} : { event: { __typename: "EntryAdded", timelineEdge } });
  const removed = (contentId: string | null | undefined): Fact => (contentId == null ? {} : { event: { __typename: "ContentRemoved", contentId } });
  const comes = (userId: string): Fact => ({ isInDoubt: true, comes: userId });
  const keptOut = (userId: string): Intent => ({ hides: isBy(userId) });

  return {
    like: reaction("likeContent", "viewerHasLiked", "likeCount", true),
    unlike: reaction("unlikeContent", "viewerHasLiked", "likeCount", false),
    bookmark: reaction("bookmarkContent", "viewerHasBookmarked", "bookmarkCount", true),
    unbookmark: reaction("unbookmarkContent", "viewerHasBookmarked", "bookmarkCount", false),
    repost(subjectId) {
      const key = freshKey();
      const made = (original: Original): Partial<Content> => ({ kind: "REPOST", subjectId, repostOf: original, viewerHasReposted: true });
      return change(`repost ${subjectId}`, "repostContent", { contentId: subjectId }, {
        content: switched(subjectId, "viewerHasReposted", "repostCount", true),
        draft: (find) => {
          const original = find(subjectId);
          return original === undefined ? null : draftOf(key, made(original), viewer());
        },
        isMadeOf: (content) => content.kind === "REPOST" && content.subjectId === subjectId,
      }, ({ content = null, timelineEdge }) => ({ content, ...added(timelineEdge) }));
    },
    unrepost: (subjectId) => change(`repost ${subjectId}`, "unrepostContent", { contentId: subjectId }, {
      content: switched(subjectId, "viewerHasReposted", "repostCount", false),
      hides: ({ kind, subjectId: its, viewerIsAuthor }) => kind === "REPOST" && its === subjectId && viewerIsAuthor,
    }, ({ content = null, deletedContentId }) => ({ content, ...removed(deletedContentId) })),
    publish({ text, media = [], replyTo, key = freshKey() }) {
      const kind = replyTo === undefined ? "POST" : "REPLY";
      const content = draftOf(key, { kind, text, media: media.map(mediaOf), inReplyTo: replyTo === undefined ? null : { id: replyTo, author: null } }, viewer());
      const input = { text, media, idempotencyKey: key, ...(replyTo === undefined ? {} : { replyTo }) };
      return change(key, "publishContent", input, {
        draft: () => content,
        isMadeOf: (one) => one.kind === kind && one.text === text && one.media.length === media.length,
      }, ({ timelineEdge = null }) => ({ ...added(timelineEdge), published: timelineEdge?.node ?? null }));
    },
    remove: (contentId) => change(contentId, "deleteContent", { contentId }, { hides: ({ id }) => id === contentId, removes: contentId },
      () => removed(contentId)),
    follow: relation("followUser", (id) => ({ user: following(id, true) }), comes),
    unfollow: relation("unfollowUser", (id) => ({ user: following(id, false), hides: ({ author }) => author?.id === id }), leaves),
    mute: relation("muteUser", keptOut, leaves),
    unmute: relation("unmuteUser", () => ({}), comes),
    hide: relation("hideFromFollower", () => ({}), () => ({})),
    unhide: relation("unhideFromFollower", () => ({}), () => ({})),
    block: relation("blockUser", keptOut, leaves),
    unblock: relation("unblockUser", () => ({}), comes),
  };
}
