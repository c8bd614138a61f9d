// The keyboard, for who reads without a mouse: what each key does is in KEYS, and the page tells it under "?".
import { useEffect, useState } from "react";
import { openComposer } from "../timeline/composing";

export const KEYS = [
  ["j", "Next post"], ["k", "Previous post"], ["Enter", "Open the post"], ["r", "Reply"], ["l", "Like"], ["b", "Bookmark"], ["n", "Write a post"], ["Esc", "Back to the post"],
  ["/", "Search"], ["?", "These shortcuts"],
] as const;

const ACTIONS: Record<string, string> = { r: "[data-testid=reply]", l: "[data-testid=heart]", b: "[data-testid=bookmark]" };

const posts = () => [...document.querySelectorAll<HTMLElement>("main article.post, main .post.main")];
/** Where the keyboard was before it was taken to a field. */
let cameFrom: Element | null = null;

/** Out of a field to where the reader was: the post that had the focus, or the one that the page is about. */
function goBack() {
  const back = [cameFrom, document.querySelector(".post.main"), document.getElementById("main")].find((one) => one?.isConnected === true && one !== document.body);
  if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
  if (back instanceof HTMLElement) back.focus({ preventScroll: true });
  cameFrom = null;
}

/** Below what stays at the top of a phone. */
const isBelowTop = (post: HTMLElement) => post.getBoundingClientRect().bottom > 120;

/** The post that has the focus, else none. */
function current(): HTMLElement | null {
  return document.activeElement?.closest<HTMLElement>("article.post") ?? null;
}

function move(step: 1 | -1) {
  const all = posts();
  const here = current();
  const next = here === null ? all.find(isBelowTop) : all[all.indexOf(here) + step];
  next?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: "nearest" });
}

function isWriting(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("input, textarea, select, dialog, [contenteditable]") !== null;
}

/** Whether the key was one of the page's. */
function act(key: string, toggleHelp: () => void): boolean {
  if (key === "n" || key === "/" || key === "r") cameFrom = document.activeElement;
  if (key === "j" || key === "k") move(key === "j" ? 1 : -1);
  else if (key === "n") openComposer();
  else if (key === "/") document.querySelector<HTMLInputElement>(".bar-search input")?.focus();
  else if (key === "?") toggleHelp();
  else {
    const post = current() ?? document.querySelector<HTMLElement>(".post.main");
    if (post === null) return false;
    if (key === "Enter") {
      if (post !== document.activeElement) return false;
      post.querySelector<HTMLElement>("[data-testid=post-time]")?.click();
    } else {
      const selector = ACTIONS[key];
      if (selector === undefined) return false;
      post.querySelector<HTMLElement>(selector)?.click();
    }
  }
  return true;
}

export function useKeyboard(): { isOpen: boolean; toggle: () => void } {
  const [isOpen, setIsOpen] = useState(false);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "Escape" && event.target instanceof Element && event.target.closest("input, textarea") !== null) goBack();
      if (isWriting(event.target)) return;
      if (act(event.key, () => { setIsOpen((is) => !is); })) event.preventDefault();
    };
    document.addEventListener("keydown", onKey);
    return () => { document.removeEventListener("keydown", onKey); };
  }, []);
  return { isOpen, toggle: () => { setIsOpen((is) => !is); } };
}
