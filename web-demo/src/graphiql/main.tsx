// GraphiQL against this server, with the token of the user who is signed in on the demo page.
import "graphiql/setup-workers/vite";
import { createGraphiQLFetcher } from "@graphiql/toolkit";
import { GraphiQL } from "graphiql";
import { createClient } from "graphql-ws";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { accessToken, signedFetch } from "../api/tokens";
import "graphiql/style.css";
import "./graphiql.css";

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

const root = document.getElementById("graphiql");
if (root === null) throw new Error("graphiql/index.html has no element with the id graphiql");
createRoot(root).render(
  <StrictMode>
    <GraphiQL fetcher={fetcher} defaultTabs={[{ query: TIMELINE }, { query: NEW_FEED }]}>
      <GraphiQL.Logo><a className="back" href="/">← Tidefeed</a></GraphiQL.Logo>
    </GraphiQL>
  </StrictMode>,
);
