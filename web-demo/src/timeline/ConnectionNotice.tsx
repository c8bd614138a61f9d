// Says, on every page, that what is shown is not live, and why; gone as soon as it is.
import { useConnection } from "@tidefeed/react";

const WORDS = {
  offline: "You are offline. New posts appear as soon as you are back.",
  reconnecting: "No connection to the server. Trying again…",
} as const;

export function ConnectionNotice() {
  const state = useConnection();
  return (
    <div role="status">
      {(state === "offline" || state === "reconnecting") && <p data-testid="line-notice">{WORDS[state]}</p>}
    </div>
  );
}
