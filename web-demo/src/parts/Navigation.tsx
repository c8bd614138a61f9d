// The brand, the search and the ways through the app.
import { useViewer } from "@tidefeed/react";
import { tidefeed } from "../api/tidefeed";
import { explorePath, bookmarksPath, profilePath, type Route, settingsPath, timelinePath } from "../routing";
import { fromRoot } from "../root";
import { SearchForm } from "../search/SearchForm";
import { ComposeButton } from "../timeline/ComposeButton";
import { forgetDrafts } from "../timeline/drafts";
import { Brand } from "./Brand";
import { Icon } from "./Icon";
import { countOf } from "./numbers";

interface NavigationProps {
  route: Route;
  /** New posts that are not on the timeline yet. */
  waiting: number;
}

function signOut() {
  forgetDrafts();
  tidefeed.session.signOut();
}

export function Navigation({ route, waiting }: NavigationProps) {
  const handle = useViewer().value?.handle;
  const onOwnProfile = route.page === "profile" && route.handle === handle;
  return (
    <header className="bar">
      <a className="bar-brand" href={timelinePath} aria-label="Tidefeed, your timeline"><Brand /></a>
      <SearchForm route={route} />
      <nav className="bar-links" aria-label="Main">
        <a href={timelinePath} aria-current={route.page === "timeline" ? "page" : undefined} data-testid="nav-timeline">
          <Icon name="home" /><span>Timeline</span>
          {waiting > 0 && route.page !== "timeline" && <b className="badge" title="New posts">{countOf(waiting)}</b>}
        </a>
        <a href={explorePath} aria-current={route.page === "explore" || route.page === "search" ? "page" : undefined} data-testid="nav-explore">
          <Icon name="lens" /><span>Explore</span>
        </a>
        <a href={bookmarksPath} aria-current={route.page === "bookmarks" ? "page" : undefined} data-testid="nav-bookmarks">
          <Icon name="bookmark" /><span>Bookmarks</span>
        </a>
        <a href={handle === undefined ? timelinePath : profilePath(handle)} aria-current={onOwnProfile ? "page" : undefined} data-testid="nav-profile">
          <Icon name="person" /><span>Profile</span>
        </a>
        <a href={settingsPath} aria-current={route.page === "settings" ? "page" : undefined} data-testid="nav-settings">
          <Icon name="gear" /><span>Settings</span>
        </a>
        <a className="not-phone" href={fromRoot("graphiql/")} data-testid="nav-graphiql"><Icon name="graph" /><span>GraphiQL</span></a>
        <button type="button" className="not-phone" onClick={signOut} data-testid="sign-out">
          <Icon name="leave" /><span>Sign out</span>
        </button>
      </nav>
      <ComposeButton route={route} />
    </header>
  );
}
