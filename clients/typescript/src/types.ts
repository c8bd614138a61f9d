// What the server answers to the package's documents, generated from its schema, and what is the package's own.
import type { FeedEvent, MediaInput, UserError as Refusal } from "./schema.js";

export type * from "./schema.js";

/** Why a mutation was refused, for people (`message`) and programs (`code`, `field`). */
export interface UserError extends Refusal {
  /** When it is worth trying again, RFC 3339, where too many attempts have failed. */
  retryAt?: string;
}

type WithoutToken<Event> = Event extends unknown ? Omit<Event, "resumeToken"> : never;
/** A change of a timeline: told live, or what a mutation has answered. */
export type TimelineChange = WithoutToken<FeedEvent>;

export interface Tokens {
  token: string;
  /** RFC 3339. */
  expiresAt: string;
  /** Good once. Whoever has it is the user. */
  refreshToken: string;
}

export interface Draft {
  text: string;
  media?: MediaInput[];
  /** The id of what it answers. */
  replyTo?: string;
  /** A draft that is sent once more with its key, after nobody knew whether it was published, is published once. By default each call has its own. */
  key?: string;
}
