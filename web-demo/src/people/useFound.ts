// Whom a name or a handle finds while it is being typed.
import { useEffect, useState } from "react";
import { FoundPeopleDocument } from "../api/listDocuments";
import { tidefeed } from "../api/tidefeed";
import type { FoundPeopleQuery, PersonFragment } from "../gql/graphql";

/** A pause in typing. */
const PAUSE_MS = 200;
const SHOWN = 5;
/** As much as the server takes. */
const MOST_CHARS = 60;

const NOBODY: readonly PersonFragment[] = [];

/** Null while it is not known; nobody for "", and where it cannot be asked: the page of the search says why. */
export function useFound(text: string): readonly PersonFragment[] | null {
  const [found, setFound] = useState<{ text: string; people: readonly PersonFragment[] }>({ text: "", people: NOBODY });
  useEffect(() => {
    if (text === "") return;
    let end = () => {};
    const timer = setTimeout(() => {
      const query = tidefeed.query<FoundPeopleQuery>(FoundPeopleDocument.toString(), { text: Array.from(text).slice(0, MOST_CHARS).join(""), first: SHOWN });
      const show = () => {
        const { value, error } = query.getSnapshot();
        if (value !== null || error !== null) setFound({ text, people: (value?.searchUsers?.edges ?? []).flatMap(({ node }) => node ?? []) });
      };
      end = query.subscribe(show);
      show();
    }, PAUSE_MS);
    return () => {
      end();
      clearTimeout(timer);
    };
  }, [text]);
  if (text === "") return NOBODY;
  return found.text === text ? found.people : null;
}
