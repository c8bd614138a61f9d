// GraphiQL against this server, with the token of the user who is signed in on the demo page. Opens with the address's `?query=` and `variables=`, if it has
// them.
import "graphiql/setup-workers/vite";
import { createGraphiQLFetcher } from "@graphiql/toolkit";
import { GraphiQL } from "graphiql";
import { createClient } from "graphql-ws";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { createTidefeed, localStore } from "@tidefeed/client";
import "graphiql/style.css";
import "./graphiql.css";

const SEARCH = `# The newest posts that have the word "tide".
# Nobody needs to be signed in for that.
# Ctrl+Enter runs it.

query Search {
  search(text: "tide", first: 5) {
    nodes {
      text
      createdAt
      author {
        handle
        name
      }
    }
  }
}
`;

const TIMELINE = `# The timeline of whoever is signed in on the
# demo page: their token is sent by itself. An
# "authorization" header below takes precedence.
# Ctrl+Enter runs it.

query MyTimeline {
  viewer {
    handle
    followingCount
  }
  timeline(first: 5) {
    edges {
      cursor
      node {
        text
        createdAt
        author {
          handle
          name
        }
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
`;

const NEW_FEED = `# What changes in that timeline, as it happens.
# Run it, then publish on the demo page.

subscription MyNewFeed {
  newFeed {
    __typename
    ... on EntryAdded {
      timelineEdge {
        node {
          text
          author {
            handle
          }
        }
      }
    }
    ... on ContentRemoved {
      contentId
    }
  }
}
`;

/** This page is one step below the server's path. */
const server = new URL("..", window.location.href).href;
// Where the demo page keeps its tokens (src/api/tidefeed.ts).
const { session } = createTidefeed({ url: server, store: localStore("tidefeed.session") });

const fetcher = createGraphiQLFetcher({
  url: `${server}graphql`,
  // The token is read for every request, so that signing in in another tab takes effect here. A header of the reader's own takes precedence.
  fetch: (url: RequestInfo | URL, init?: RequestInit) => (new Headers(init?.headers).has("authorization") ? fetch(url, init) : session.fetch(url, init)),
  wsClient: createClient({
    url: `${server.replace(/^http/, "ws")}graphql/ws`,
    connectionParams: async () => {
      const token = await session.token();
      return token === null ? {} : { authorization: `Bearer ${token}` };
    },
  }),
});

const asked = new URLSearchParams(window.location.search);
const query = asked.get("query") ?? undefined;
const tabs = [{ query: TIMELINE }, { query: NEW_FEED }];
if (!session.getSnapshot().signedIn) tabs.unshift({ query: SEARCH });

/** Whether GraphiQL may use what it uses by itself. Where a browser blocks site data, asking for it throws. */
function hasStorage() {
  try {
    return typeof window.localStorage === "object";
  } catch {
    return false;
  }
}

/** Keeps what GraphiQL stores as long as the page is open. */
function forgetful() {
  const kept = new Map<string, string>();
  return {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => { kept.set(key, value); },
    removeItem: (key: string) => { kept.delete(key); },
    clear: () => { kept.clear(); },
    get length() { return kept.size; },
  };
}

const root = document.getElementById("graphiql");
if (root === null) throw new Error("graphiql/index.html has no element with the id graphiql");
createRoot(root).render(
  <StrictMode>
    <GraphiQL fetcher={fetcher} {...(hasStorage() ? {} : { storage: forgetful() })} initialQuery={query} initialVariables={asked.get("variables") ?? undefined} defaultTabs={query === undefined ? tabs : undefined}>
      <GraphiQL.Logo><a className="back" href="../">← Tidefeed</a></GraphiQL.Logo>
    </GraphiQL>
  </StrictMode>,
);
