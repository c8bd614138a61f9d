// GraphiQL against this server, with the token of the user who is signed in on the demo page. Opens with the address's `?query=` and `variables=`, if it has
// them.
import "graphiql/setup-workers/vite";
import { createGraphiQLFetcher } from "@graphiql/toolkit";
import { GraphiQL } from "graphiql";
import { createClient } from "graphql-ws";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { accessToken, signedFetch } from "../api/tokens";
import { readSession } from "../session";
import "graphiql/style.css";
import "./graphiql.css";

const SEARCH = `# The newest posts that have the word "tide".
# Nobody needs to be signed in for that.
# Ctrl+Enter runs it.

query Search {
  search(text: "tide", first: 5) {
    nodes {
      text
      publishTime
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
        publishTime
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
    timelineEdge {
      node {
        text
        author {
          handle
        }
      }
    }
    removedContentId
    refetch
  }
}
`;

const fetcher = createGraphiQLFetcher({
  url: "/graphql",
  // The token is read for every request, so that signing in in another tab takes effect here.
  fetch: signedFetch,
  wsClient: createClient({
    url: `${window.location.origin.replace(/^http/, "ws")}/graphql/ws`,
    connectionParams: async () => {
      const token = await accessToken();
      return token === undefined ? {} : { authorization: `Bearer ${token}` };
    },
  }),
});

const asked = new URLSearchParams(window.location.search);
const query = asked.get("query") ?? undefined;
const tabs = [{ query: TIMELINE }, { query: NEW_FEED }];
if (readSession() === null) tabs.unshift({ query: SEARCH });

const root = document.getElementById("graphiql");
if (root === null) throw new Error("graphiql/index.html has no element with the id graphiql");
createRoot(root).render(
  <StrictMode>
    <GraphiQL fetcher={fetcher} initialQuery={query} initialVariables={asked.get("variables") ?? undefined} defaultTabs={query === undefined ? tabs : undefined}>
      <GraphiQL.Logo><a className="back" href="/">← Tidefeed</a></GraphiQL.Logo>
    </GraphiQL>
  </StrictMode>,
);
