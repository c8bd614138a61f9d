// A post that is being written, and its key: sending the same draft again, after a lost answer, publishes it once.
import { useState } from "react";
import type { PublishContentInput } from "../gql/graphql";

export interface Picture {
  url: string;
  alt: string;
  /** Null until the preview has loaded. */
  size: { width: number; height: number } | null;
}

interface Draft {
  text: string;
  /** Null while no picture is being added. */
  picture: Picture | null;
  key: string;
}

// Not crypto.randomUUID: it is missing where the page is served over plain http from another machine.
function freshKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const emptyDraft = (): Draft => ({ text: "", picture: null, key: freshKey() });

function toInput({ text, picture, key }: Draft): PublishContentInput {
  const url = picture?.url.trim() ?? "";
  if (picture === null || url === "") return { text, idempotencyKey: key };
  return { text, idempotencyKey: key, media: [{ kind: "PICTURE", url, alt: picture.alt.trim(), ...picture.size }] };
}

export function useDraft() {
  const [draft, setDraft] = useState(emptyDraft);
  return {
    text: draft.text,
    picture: draft.picture,
    input: toInput(draft),
    setText: (text: string) => { setDraft((old) => ({ ...old, text, key: freshKey() })); },
    setPicture: (picture: Picture | null) => { setDraft((old) => ({ ...old, picture, key: freshKey() })); },
    /** Ends the draft that was sent; what has been written since stays. */
    clear: (sent: PublishContentInput) => { setDraft((old) => (old.key === sent.idempotencyKey ? emptyDraft() : old)); },
  };
}
