// Posts and people that have been on the screen: their pages open with what is known of them, at once and offline, and the rest follows.
import type { Original } from "@tidefeed/client";
import { tidefeed } from "../api/tidefeed";

type Person = NonNullable<Original["author"]>;

const MOST = 500;
const posts = new Map<string, Original>();
const people = new Map<string, Person>();
// What one reader has been shown is not another one's.
tidefeed.session.subscribe(() => {
  posts.clear();
  people.clear();
});

function put<Value>(known: Map<string, Value>, key: string, value: Value) {
  known.delete(key);
  known.set(key, value);
  const [oldest] = known.keys();
  if (known.size > MOST && oldest !== undefined) known.delete(oldest);
}

export function remember(post: Original) {
  put(posts, post.id, post);
  if (post.author !== null) put(people, post.author.handle, post.author);
}

export const rememberedPost = (id: string): Original | null => posts.get(id) ?? null;
export const rememberedPerson = (handle: string): Person | null => people.get(handle) ?? null;
