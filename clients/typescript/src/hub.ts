// What is under way and what has become of it, told to every list and object of a client: changes are shown at once and taken back if they fail.
import type { Content, Original, TimelineChange, User } from "./types.js";

/** A change that has been asked for and not been answered: laid over what is shown, and lifted with its answer. */
export interface Intent {
  content?: (content: Original) => Original;
  user?: (user: User) => User;
  hides?: (content: Content) => boolean;
  /** The id of a content that goes everywhere. */
  removes?: string;
  /** An entry that is to come. `find` looks among what is shown. */
  draft?: ((find: (id: string) => Original | undefined) => Content | null) | undefined;
  /** Whether this is the entry that the draft stood for. */
  isMadeOf?: (content: Content) => boolean;
}

/** What a mutation has answered. */
export interface Fact {
  content?: Original | null;
  user?: User | null;
  event?: TimelineChange;
  /** What the viewer has published, whether or not it was told live before. */
  published?: Content | null;
  /** What was read may have become different without a word. */
  isInDoubt?: boolean;
  /** Contents and users that have been read anew: lists of theirs may have changed, too. */
  changed?: ReadonlySet<string>;
  /** The user whose contents come to the timeline now. */
  comes?: string;
}

export interface Hub {
  add: (intent: Intent) => void;
  remove: (intent: Intent) => void;
  intents: () => readonly Intent[];
  tell: (fact: Fact) => void;
  /** An own entry has come live: the draft that stood for it makes way. */
  arrived: (content: Content) => void;
  onFact: (listener: (fact: Fact) => void) => () => void;
  onIntents: (listener: () => void) => () => void;
}

function listeners<Value>() {
  const all = new Set<(value: Value) => void>();
  return {
    add(listener: (value: Value) => void) {
      all.add(listener);
      return () => { all.delete(listener); };
    },
    tell: (value: Value) => { for (const listener of [...all]) listener(value); },
  };
}

export function createHub(): Hub {
  let intents: readonly Intent[] = [];
  const [facts, changes] = [listeners<Fact>(), listeners<undefined>()];
  const change = (next: readonly Intent[]) => {
    intents = next;
    changes.tell(undefined);
  };
  return {
    add: (intent) => { change([...intents, intent]); },
    remove: (intent) => { change(intents.filter((one) => one !== intent)); },
    intents: () => intents,
    tell: facts.tell,
    arrived(content) {
      const intent = intents.find(({ draft, isMadeOf }) => draft !== undefined && isMadeOf?.(content));
      if (intent !== undefined) intent.draft = undefined;
    },
    onFact: facts.add,
    onIntents: (listener) => changes.add(listener),
  };
}

/** `content` with `user` in the place of each user in it, and `original` in that of each content. */
function mapped(content: Content, ofUser: (user: User) => User, ofContent: (content: Original) => Original): Content {
  const author = (user: User | null) => (user === null ? null : ofUser(user));
  const whole = <One extends Original>(one: One): One => {
    const next = { ...one, ...ofContent(one) };
    return { ...next, author: author(next.author), inReplyTo: next.inReplyTo && { ...next.inReplyTo, author: author(next.inReplyTo.author) } };
  };
  const next = whole(content);
  return { ...next, repostOf: next.repostOf && whole(next.repostOf) };
}

const same = <Value>(value: Value) => value;

export const withIntent = (content: Content, intent: Intent): Content =>
  (intent.content === undefined && intent.user === undefined ? content : mapped(content, intent.user ?? same, intent.content ?? same));

export function withFact(content: Content, { content: changed, user }: Fact): Content {
  if (changed == null && user == null) return content;
  const ofContent = (one: Original): Original => {
    if (changed == null) return one;
    if (one.id === changed.id) return changed;
    return one.kind === "REPOST" && one.subjectId === changed.id ? { ...one, viewerHasReposted: changed.viewerHasReposted } : one;
  };
  return mapped(content, (one) => (one.id === user?.id ? { ...one, ...user } : one), ofContent);
}
