import { Icon } from "../parts/Icon";
import type { Route } from "../routing";
import { openComposer } from "./composing";

const WITHOUT: readonly Route["page"][] = ["thread", "likers", "settings", "exclusions", "unknown"];

/** In the header, where it covers nothing; absent where nobody writes a post. */
export function ComposeButton({ route }: { route: Route }) {
  if (WITHOUT.includes(route.page)) return null;
  return (
    <button type="button" className="button compose-button" title="Write a post" onClick={openComposer} data-testid="compose-open">
      <Icon name="pen" /><span>Write a post</span>
    </button>
  );
}
