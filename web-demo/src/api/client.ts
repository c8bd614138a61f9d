// One Apollo client per session: queries and mutations over POST /graphql, newFeed over the WebSocket, one normalised cache.
import { ApolloClient, ApolloLink, CombinedGraphQLErrors, HttpLink, InMemoryCache, ServerError } from "@apollo/client";
import { ErrorLink } from "@apollo/client/link/error";
import { GraphQLWsLink } from "@apollo/client/link/subscriptions";
import { OperationTypeNode } from "graphql";
import { createClient } from "graphql-ws";
import { type Connection, KEEP_ALIVE_MS, openConnection } from "./connection";
import { endlessConnection } from "./endlessConnection";
import { accessToken, replaceToken, signedFetch } from "./tokens";

export interface Api {
  apollo: ApolloClient;
  connection: Connection;
}

function isUnauthenticated(error: unknown): boolean {
  if (CombinedGraphQLErrors.is(error)) return error.errors.some((one) => one.extensions?.code === "UNAUTHENTICATED");
  return ServerError.is(error) && error.statusCode === 401;
}

function createCache() {
  return new InMemoryCache({
    typePolicies: {
      Query: { fields: { timeline: endlessConnection(["filter"]), search: endlessConnection(["text"]) } },
      User: {
        fields: {
          contents: endlessConnection(), followers: endlessConnection(), following: endlessConnection(), favourites: endlessConnection(),
          mutedUsers: endlessConnection(), hiddenFollowers: endlessConnection(), blockedUsers: endlessConnection(),
        },
      },
      Content: { fields: { replies: endlessConnection(), likers: endlessConnection() } },
    },
  });
}

/** `onExpired` is called when the server takes no token of the session any longer. */
export function createApi(signedIn: boolean, onExpired: () => void): Api {
  let sent: string | undefined;
  const connection = openConnection(
    () => { client.terminate(); },
    // If the server cannot be asked for another one, the next attempt to connect asks again.
    () => { replaceToken(sent).catch(() => {}); },
  );
  const errors = new ErrorLink(({ error }) => {
    if (signedIn && isUnauthenticated(error)) onExpired();
  });
  const http = new HttpLink({ uri: "/graphql", fetch: signedFetch });
  const client = createClient({
    url: `${window.location.origin.replace(/^http/, "ws")}/graphql/ws`,
    connectionParams: async () => {
      sent = await accessToken();
      return { authorization: sent === undefined ? undefined : `Bearer ${sent}` };
    },
    keepAlive: KEEP_ALIVE_MS,
    retryAttempts: Number.POSITIVE_INFINITY,
    retryWait: connection.waitBeforeRetry,
    shouldRetry: () => true,
    on: connection.listeners,
    // An operation is written anew each time the socket is: newFeed goes on after the last event, not where it once began.
    jsonMessageReplacer: (key, value: unknown) => key === "after" ? connection.resumeToken() ?? value : value,
  });
  const transport = ApolloLink.split(({ operationType }) => operationType === OperationTypeNode.SUBSCRIPTION, new GraphQLWsLink(client), http);
  return { connection, apollo: new ApolloClient({ cache: createCache(), link: ApolloLink.from([errors, transport]) }) };
}
