// GraphiQL against this server, with the token of the user who is signed in on the demo page.
import "graphiql/setup-workers/vite";
import { createGraphiQLFetcher } from "@graphiql/toolkit";
import { GraphiQL } from "graphiql";
import { createClient } from "graphql-ws";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { readSession } from "../session";
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

function authorization(): Record<string, string> {
  const session = readSession();
  return session === null ? {} : { authorization: `Bearer ${session.token}` };
}

const fetcher = createGraphiQLFetcher({
  url: "/graphql",
  // The token is read for every request, so that signing in in another tab takes effect here.
  fetch: (input, init) => {
    const headers = new Headers(init?.headers);
    for (const [name, value] of Object.entries(authorization())) if (!headers.has(name)) headers.set(name, value);
    return fetch(input, { ...init, headers });
  },
  wsClient: createClient({
    url: `${window.location.origin.replace(/^http/, "ws")}/graphql/ws`,
    connectionParams: authorization,
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
