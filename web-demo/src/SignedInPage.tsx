// The frame around every page of a signed-in user: navigation, the page of the route, the side column.
import { useViewer } from "@tidefeed/react";
import { BookmarksPage } from "./content/BookmarksPage";
import { ExclusionsPage } from "./people/ExclusionsPage";
import { ViewerCard } from "./people/ViewerCard";
import { KeyboardHelp } from "./parts/KeyboardHelp";
import { Navigation } from "./parts/Navigation";
import { Notices } from "./parts/Notices";
import { SkipLink } from "./parts/SkipLink";
import { useKeyboard } from "./parts/useKeyboard";
import { readablePage } from "./ReadablePage";
import type { Route } from "./routing";
import { SettingsPage } from "./settings/SettingsPage";
import { ComposerSheet } from "./timeline/ComposerSheet";
import { ConnectionNotice } from "./timeline/ConnectionNotice";
import { TimelinePage } from "./timeline/TimelinePage";
import { type Timeline, useTimeline } from "./timeline/useTimeline";

function PageOf({ route, timeline }: { route: Route; timeline: Timeline }) {
  const viewer = useViewer().value;
  switch (route.page) {
    case "timeline": return <TimelinePage timeline={timeline} />;
    case "exclusions": return <ExclusionsPage key={route.exclusion} exclusion={route.exclusion} />;
    case "settings": return <SettingsPage key={viewer?.handle} handle={viewer?.handle ?? ""} />;
    case "bookmarks": return <BookmarksPage />;
    default: return readablePage(route);
  }
}

export function SignedInPage({ route }: { route: Route }) {
  const timeline = useTimeline(route.page === "timeline" ? route.list : null);
  const help = useKeyboard();
  return (
    <div className="frame">
      <SkipLink />
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
