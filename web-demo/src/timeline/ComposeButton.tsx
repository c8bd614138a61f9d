import { Icon } from "../parts/Icon";
import type { Route } from "../routing";
import { openComposer } from "./composing";

/** For a phone, where the composer is not always there. */
export function ComposeButton({ route }: { route: Route }) {
  if (route.page === "thread" || route.page === "settings") return null;
  return (
    <button type="button" className="compose-button" aria-label="Write a post" onClick={openComposer} data-testid="compose-open">
      <Icon name="pen" />
    </button>
  );
}
