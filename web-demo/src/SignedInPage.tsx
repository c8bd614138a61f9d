// The frame around every page of a signed-in user: navigation, the page of the route, the side column.
import { useViewer } from "@tidefeed/react";
import { BookmarksPage } from "./content/BookmarksPage";
import { LikersPage } from "./content/LikersPage";
import { ThreadPage } from "./content/ThreadPage";
import { ExclusionsPage } from "./people/ExclusionsPage";
import { ExplorePage } from "./people/ExplorePage";
import { FollowsPage } from "./people/FollowsPage";
import { ProfilePage } from "./people/ProfilePage";
import { ViewerCard } from "./people/ViewerCard";
import { EmptyState } from "./parts/EmptyState";
import { KeyboardHelp } from "./parts/KeyboardHelp";
import { Navigation } from "./parts/Navigation";
import { Notices } from "./parts/Notices";
import { useKeyboard } from "./parts/useKeyboard";
import { type Route, timelinePath, useRoute } from "./routing";
import { SearchPage } from "./search/SearchPage";
import { SettingsPage } from "./settings/SettingsPage";
import { ComposerSheet } from "./timeline/ComposerSheet";
import { ConnectionNotice } from "./timeline/ConnectionNotice";
import { TimelinePage } from "./timeline/TimelinePage";
import { type Timeline, useTimeline } from "./timeline/useTimeline";

function PageOf({ route, timeline }: { route: Route; timeline: Timeline }) {
  const viewer = useViewer().value;
  switch (route.page) {
    case "timeline": return <TimelinePage timeline={timeline} />;
    case "profile": return <ProfilePage key={route.handle} handle={route.handle} list={route.list} />;
    case "followers":
    case "following": return <FollowsPage key={`${route.page} ${route.handle}`} handle={route.handle} side={route.page} />;
    case "thread": return <ThreadPage key={route.id} id={route.id} />;
    case "search": return <SearchPage key={route.text} text={route.text} />;
    case "explore": return <ExplorePage />;
    case "likers": return <LikersPage key={route.id} id={route.id} />;
    case "exclusions": return <ExclusionsPage key={route.exclusion} exclusion={route.exclusion} />;
    case "settings": return <SettingsPage key={viewer?.handle} handle={viewer?.handle ?? ""} />;
    case "bookmarks": return <BookmarksPage />;
    case "unknown": return (
      <EmptyState title="There is no such page" heading="h1" testId="unknown-page">
        <title>No such page · Tidefeed</title>
        <p>The address does not lead anywhere. <a href={timelinePath}>Go to your timeline</a>.</p>
      </EmptyState>
    );
  }
}

export function SignedInPage() {
  const route = useRoute();
  const timeline = useTimeline(route.page === "timeline" ? route.list : "EVERYTHING");
  const help = useKeyboard();
  return (
    <div className="frame">
      <a className="skip-link" href="#main" onClick={(event) => {
        event.preventDefault();
        document.getElementById("main")?.focus();
      }}>Skip to the content</a>
      <Navigation route={route} waiting={timeline.waiting} />
      <main id="main" tabIndex={-1} className="column">
        <PageOf route={route} timeline={timeline} />
      </main>
      <aside className="side" aria-label="You and others">
        <ViewerCard />
        <button type="button" className="link keys-hint" onClick={help.toggle}>Keyboard shortcuts <kbd>?</kbd></button>
      </aside>
      <ComposerSheet />
      <div className="notices">
        <Notices />
        <ConnectionNotice />
      </div>
      {help.isOpen && <KeyboardHelp onClose={help.toggle} />}
    </div>
  );
}
