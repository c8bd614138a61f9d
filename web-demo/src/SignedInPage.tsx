// The frame around every page of a signed-in user: navigation, the page of the route, the side column.
import type { Connection } from "./api/connection";
import { FavouritesPage } from "./content/FavouritesPage";
import { LikersPage } from "./content/LikersPage";
import { ThreadPage } from "./content/ThreadPage";
import { BoundariesPage } from "./people/BoundariesPage";
import { FindUser } from "./people/FindUser";
import { FollowsPage } from "./people/FollowsPage";
import { ProfilePage } from "./people/ProfilePage";
import { ViewerCard } from "./people/ViewerCard";
import { EmptyState } from "./parts/EmptyState";
import { Navigation } from "./parts/Navigation";
import { timelinePath, useRoute } from "./routing";
import { SearchPage } from "./search/SearchPage";
import type { Session } from "./session";
import { SettingsPage } from "./settings/SettingsPage";
import { TimelinePage } from "./timeline/TimelinePage";
import { useTimeline } from "./timeline/useTimeline";

interface SignedInPageProps {
  session: Session;
  connection: Connection;
}

export function SignedInPage({ session, connection }: SignedInPageProps) {
  const route = useRoute();
  const timeline = useTimeline(connection, route.page === "timeline" ? route.list : "EVERYTHING");
  return (
    <div className="frame">
      <a className="skip-link" href="#main" onClick={(event) => {
        event.preventDefault();
        document.getElementById("main")?.focus();
      }}>Skip to the content</a>
      <Navigation handle={session.handle} route={route} waiting={timeline.waiting} andMore={timeline.andMore} />
      <main id="main" tabIndex={-1} className="column">
        {route.page === "timeline" && <TimelinePage timeline={timeline} connection={connection} />}
        {route.page === "profile" && <ProfilePage key={route.handle} handle={route.handle} />}
        {(route.page === "followers" || route.page === "following") && (
          <FollowsPage key={`${route.page} ${route.handle}`} handle={route.handle} side={route.page} />
        )}
        {route.page === "thread" && <ThreadPage key={route.id} id={route.id} />}
        {route.page === "search" && <SearchPage key={route.text} text={route.text} />}
        {route.page === "likers" && <LikersPage key={route.id} id={route.id} />}
        {route.page === "boundaries" && <BoundariesPage key={route.boundary} boundary={route.boundary} />}
        {route.page === "settings" && <SettingsPage handle={session.handle} />}
        {route.page === "favourites" && <FavouritesPage />}
        {route.page === "unknown" && (
          <EmptyState title="There is no such page" heading="h1" testId="unknown-page">
            <title>No such page · Tidefeed</title>
            <p>The address does not lead anywhere. <a href={timelinePath}>Go to your timeline</a>.</p>
          </EmptyState>
        )}
      </main>
      <aside className="side" aria-label="You and others">
        <ViewerCard />
        <FindUser />
      </aside>
    </div>
  );
}
