// How pages of a connection grow into one list in the cache.
import type { ApolloClient, FieldPolicy, OperationVariables, Reference, TypedDocumentNode } from "@apollo/client";
import { relayStylePagination } from "@apollo/client/utilities";

type Relay = ReturnType<typeof relayStylePagination<Reference>>;
type Merge = Extract<Relay["merge"], (...args: never[]) => unknown>;

/**
 * Relay's pagination, with one guard: a page that continues a list which has since been read anew, or forgotten, is
 * dropped. Appended, it would leave a gap between the new end and itself; the reader's next scroll asks again. `keyArgs`: which arguments make another list.
 */
export function endlessConnection(keyArgs: string[] | false = false): FieldPolicy {
  const relay = relayStylePagination(keyArgs);
  const append = relay.merge as Merge;
  const merge: Merge = (existing, incoming, options) => {
    const after: unknown = options.args?.after;
    if (typeof after === "string" && after !== existing?.pageInfo.endCursor) return existing ?? null;
    const merged = keepingEndApart(append, existing, incoming, options);
    // What a page further down lets one resume with says nothing of the pages above it.
    const continues = typeof after === "string" && existing != null && "resumeToken" in existing;
    return merged !== null && continues ? { ...merged, resumeToken: existing.resumeToken } : merged;
  };
  return { ...relay, merge };
}

/**
 * Relay's pagination writes `endCursor` into the last edge, although a folded page may end below it; the next page would then cut off what has come back in
 * between.
 */
function keepingEndApart(append: Merge, ...[existing, incoming, options]: Parameters<Merge>): ReturnType<Merge> {
  const end = incoming?.pageInfo?.endCursor;
  if (incoming?.pageInfo === undefined || !end) return append(existing, incoming, options);
  const merged = append(existing, { ...incoming, pageInfo: { ...incoming.pageInfo, endCursor: "" } }, options);
  return merged !== null ? { ...merged, pageInfo: { ...merged.pageInfo, endCursor: end } } : merged;
}

/**
 * Reads a further page into the cache, from where whoever watches the list gets it. Not by `fetchMore`: while that is
 * under way, its query shows nothing else that happens to the list.
 */
export async function readPage<Data, Variables extends OperationVariables>(
  client: ApolloClient,
  query: TypedDocumentNode<Data, Variables>,
  variables: NoInfer<Variables>,
) {
  await client.query({ query, variables, fetchPolicy: "network-only" } as ApolloClient.QueryOptions<Data, Variables>);
}
