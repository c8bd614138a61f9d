// The brand, the search and the ways through the app.
import { signOut } from "../api/tokens";
import { favouritesPath, profilePath, type Route, settingsPath, timelinePath } from "../routing";
import { SearchForm } from "../search/SearchForm";
import { Brand } from "./Brand";
import { Icon } from "./Icon";
import { countOf } from "./numbers";

interface NavigationProps {
  handle: string;
  route: Route;
  /** New posts that are not on the timeline yet. */
  waiting: number;
  andMore: boolean;
}

export function Navigation({ handle, route, waiting, andMore }: NavigationProps) {
  const onOwnProfile = route.page === "profile" && route.handle === handle;
  return (
    <header className="bar">
      <a className="bar-brand" href={timelinePath} aria-label="Tidefeed, your timeline"><Brand /></a>
      <SearchForm route={route} />
      <nav className="bar-links" aria-label="Main">
        <a href={timelinePath} aria-current={route.page === "timeline" ? "page" : undefined} data-testid="nav-timeline">
          <Icon name="tide" /><span>Timeline</span>
          {waiting > 0 && route.page !== "timeline" && <b className="badge" title="New posts">{countOf(waiting, andMore)}</b>}
        </a>
        <a href={favouritesPath} aria-current={route.page === "favourites" ? "page" : undefined} data-testid="nav-favourites">
          <Icon name="star" /><span>Favourites</span>
        </a>
        <a href={profilePath(handle)} aria-current={onOwnProfile ? "page" : undefined} data-testid="nav-profile">
          <Icon name="person" /><span>Profile</span>
        </a>
        <a href={settingsPath} aria-current={route.page === "settings" ? "page" : undefined} data-testid="nav-settings">
          <Icon name="gear" /><span>Settings</span>
        </a>
        <a href="/graphiql/" data-testid="nav-graphiql"><Icon name="graph" /><span>GraphiQL</span></a>
        <button type="button" onClick={signOut} data-testid="sign-out">
          <Icon name="leave" /><span>Sign out</span>
        </button>
      </nav>
    </header>
  );
}
