// A post's words, with what leads somewhere made to lead there: links, @names and #tags. Long ones are cut after twelve lines until the reader wants more.
import { type ReactNode, useLayoutEffect, useRef, useState } from "react";
import { profilePath, searchPath } from "../routing";

const LEADS = /(https?:\/\/[^\s<>"']+)|(?<![\w@/])@([a-z0-9_]{2,30})(?!\w)|(?<![\w#&/])#([\p{L}\p{N}_]{1,60})/giu;
/** What closes a sentence or a bracket is not the link's. */
const TAIL = /[.,;:!?…)\]}»”’'"]+$/u;
const LONGEST_SHOWN = 40;

function shownOf(url: string): string {
  const bare = url.replace(/^https?:\/\/(www\.)?/i, "").replace(/\/$/, "");
  return bare.length > LONGEST_SHOWN ? `${bare.slice(0, LONGEST_SHOWN - 1)}…` : bare;
}

/** A link without what comes after it: "(see https://a.example/b_(c))." keeps its own bracket. */
function trimmed(url: string): string {
  const tail = TAIL.exec(url)?.[0] ?? "";
  const keeps = tail.startsWith(")") && url.slice(0, -tail.length).includes("(") ? 1 : 0;
  return tail === "" ? url : url.slice(0, url.length - tail.length + keeps);
}

export function richText(text: string): ReactNode[] {
  const parts: ReactNode[] = [];
  let done = 0;
  for (const match of text.matchAll(LEADS)) {
    const [whole, link, name, tag] = match;
    const said = link === undefined ? whole : trimmed(whole);
    parts.push(text.slice(done, match.index));
    const key = match.index;
    if (link !== undefined) parts.push(<a key={key} href={said} title={said} target="_blank" rel="noopener noreferrer nofollow">{shownOf(said)}</a>);
    else if (name !== undefined) parts.push(<a key={key} href={profilePath(name.toLowerCase())}>{said}</a>);
    else parts.push(<a key={key} href={searchPath(tag ?? "")}>{said}</a>);
    done = match.index + said.length;
  }
  parts.push(text.slice(done));
  return parts;
}

export function RichText({ id, text, whole = false }: { id?: string | undefined; text: string; whole?: boolean }) {
  const words = useRef<HTMLParagraphElement>(null);
  const [isLong, setIsLong] = useState(false);
  const [isOpen, setIsOpen] = useState(whole);
  useLayoutEffect(() => {
    const element = words.current;
    if (element !== null && !isOpen) setIsLong(element.scrollHeight > element.clientHeight + 1);
  }, [text, isOpen]);
  return (
    <>
      <p ref={words} id={id} className={isOpen ? "post-text" : "post-text cut"} dir="auto" data-testid="post-text">{richText(text)}</p>
      {isLong && !whole && (
        <button type="button" className="link show-more" aria-expanded={isOpen} onClick={() => { setIsOpen(!isOpen); }} data-testid="show-more">
          {isOpen ? "Show less" : "Show more"}
        </button>
      )}
    </>
  );
}
