// Says, on every page, that what is shown is not live, and why; gone as soon as it is.
import { useConnection } from "@tidefeed/react";

const WORDS = {
  offline: "You are offline. What you see may be old; it catches up by itself.",
  reconnecting: "The server does not answer. Trying again…",
} as const;

export function ConnectionNotice() {
  const state = useConnection();
  return (
    <div className="line-notice" role="status" data-state={state}>
      {(state === "offline" || state === "reconnecting") && <p data-testid="line-notice">{WORDS[state]}</p>}
    </div>
  );
}
