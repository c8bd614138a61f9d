// Who follows a reply button wants to write at once: the thread's form asks whether it was so.
import { navigate, threadPath } from "../routing";

let wanted: string | null = null;

/** Leads to the thread of `id`, to write a reply. */
export function replyTo(id: string) {
  wanted = id;
  const field = document.querySelector<HTMLTextAreaElement>(`.reply-form[data-to="${CSS.escape(id)}"] textarea`);
  if (field !== null) field.focus();
  else navigate(threadPath(id));
}

export function isReplyWanted(id: string): boolean {
  const is = wanted === id;
  wanted = null;
  return is;
}
