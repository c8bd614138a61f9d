// The page's one client of @tidefeed/client. Session, socket, timeline and what the viewer does are the package's.
import { createTidefeed, localStore } from "@tidefeed/client";
import { keepCurrent } from "@tidefeed/client/current";
import type { TypedDocumentString } from "../gql/graphql";
import { root } from "../root";

/** GraphiQL finds the same tokens there. */
export const TOKENS_KEY = "tidefeed.session";
/** What is away is tried again after half of it to all of it: a page is back within 5 s of its server, and not all pages come at once. */
const RETRY_MS = 4_000;

export const tidefeed = keepCurrent(createTidefeed({ url: root.href, store: localStore(TOKENS_KEY), retryMs: RETRY_MS }));

/** Sends a mutation that the package has no method for, or asks once. */
export function ask<Data, Variables extends Record<string, unknown>>(document: TypedDocumentString<Data, Variables>, variables: NoInfer<Variables>): Promise<Data> {
  return tidefeed.request<Data>(document.toString(), variables);
}
