// The pages that anybody may read, with an account or without.
import type { ReactNode } from "react";
import { LikersPage } from "./content/LikersPage";
import { ThreadPage } from "./content/ThreadPage";
import { EmptyState } from "./parts/EmptyState";
import { ExplorePage } from "./people/ExplorePage";
import { FollowsPage } from "./people/FollowsPage";
import { ProfilePage } from "./people/ProfilePage";
import { type Route, timelinePath } from "./routing";
import { SearchPage } from "./search/SearchPage";

/** Null for a page that only who is signed in has. */
export function readablePage(route: Route): ReactNode {
  switch (route.page) {
    case "profile": return <ProfilePage key={route.handle} handle={route.handle} list={route.list} />;
    case "followers":
    case "following": return <FollowsPage key={`${route.page} ${route.handle}`} handle={route.handle} side={route.page} />;
    case "thread": return <ThreadPage key={route.id} id={route.id} />;
    case "likers": return <LikersPage key={route.id} id={route.id} />;
    case "search": return <SearchPage key={route.text} text={route.text} />;
    case "explore": return <ExplorePage />;
    case "unknown": return (
      <EmptyState title="There is no such page" heading="h1" testId="unknown-page">
        <title>No such page · Tidefeed</title>
        <p>The address does not lead anywhere. <a href={timelinePath}>Go to the start page</a>.</p>
      </EmptyState>
    );
    default: return null;
  }
}
