// One Apollo client per session: queries and mutations over POST /graphql, newFeed over the WebSocket, one normalised cache.
import { ApolloClient, ApolloLink, CombinedGraphQLErrors, HttpLink, InMemoryCache, ServerError } from "@apollo/client";
import { ErrorLink } from "@apollo/client/link/error";
import { GraphQLWsLink } from "@apollo/client/link/subscriptions";
import { relayStylePagination } from "@apollo/client/utilities";
import { OperationTypeNode } from "graphql";
import { createClient } from "graphql-ws";
import type { Session } from "../session";
import { type Connection, openConnection } from "./connection";

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
      Query: { fields: { timeline: relayStylePagination() } },
      User: { fields: { contents: relayStylePagination() } },
    },
  });
}

/** `onExpired` is called when the server no longer accepts the session's token. */
export function createApi(session: Session | null, onExpired: () => void): Api {
  const authorization = session === null ? undefined : `Bearer ${session.token}`;
  const connection = openConnection(onExpired);
  const errors = new ErrorLink(({ error }) => {
    if (session !== null && isUnauthenticated(error)) onExpired();
  });
  const http = new HttpLink({ uri: "/graphql", headers: authorization === undefined ? {} : { authorization } });
  const socket = new GraphQLWsLink(createClient({
    url: `${window.location.origin.replace(/^http/, "ws")}/graphql/ws`,
    connectionParams: { authorization },
    retryAttempts: Number.POSITIVE_INFINITY,
    shouldRetry: () => true,
    on: connection.listeners,
  }));
  const transport = ApolloLink.split(({ operationType }) => operationType === OperationTypeNode.SUBSCRIPTION, socket, http);
  return { connection, apollo: new ApolloClient({ cache: createCache(), link: ApolloLink.from([errors, transport]) }) };
}
