// One request to the API over HTTP. Where it fails, a sentence says who was asked and what answered.
import { RequestError } from "./failure.js";

export interface Post {
  /** As the platform's, perhaps with a token. */
  fetch: typeof fetch;
  /** The server's, ending in /graphql. */
  endpoint: string;
  /** For an answer: on a dead line nobody would say that none comes. */
  answerMs: number;
  /** Why the server refuses this page, if it is that. */
  refusal?: ((endpoint: string) => Promise<string | null>) | undefined;
}

export interface Answer<Data> {
  data?: Data | null;
  errors?: { message: string; extensions?: { code?: string; requestId?: string; retryAfter?: number } }[];
}

/** The API of the server at `url`. */
export const endpointOf = (url: string) => `${url.replace(/\/+$/, "")}/graphql`;

/** Throws if `url` cannot be a server's, as "localhost:8080" and "http://localhost:8080/graphql" cannot. */
export function checkUrl(url: string) {
  const fault = !/^https?:../.test(url) ? "begin with http:// or https://" : /\/graphql\/*$/.test(url) ? "end before /graphql" : null;
  if (fault !== null) throw new Error(`The url "${url}" has to ${fault}.`);
}

/** What a page may know of a server of another origin: /healthz tells every page that it is there. A browser does not say whether nobody answers or the answer may not be read. */
export async function refusalOf(endpoint: string): Promise<string | null> {
  const origin = globalThis.location?.origin;
  if (origin === undefined || endpoint.startsWith(`${origin}/`)) return null;
  const found = await globalThis.fetch(endpoint.replace(/graphql$/, "healthz"), { mode: "no-cors" }).catch(() => null);
  return found ? `${endpoint} refuses pages of ${origin}: list it in server.allowed_origins.` : null;
}

/** What the API answers to a document before `signal` ends it; `answer` is undefined if that is no GraphQL. Rejects with a RequestError. */
export async function post<Data>(at: Post, query: string, variables: unknown, signal = AbortSignal.timeout(at.answerMs)): Promise<{ response: Response; answer: Answer<Data> | undefined }> {
  const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ query, variables }), signal };
  try {
    const response = await at.fetch(at.endpoint, init);
    const answer = await response.json().catch((reason: Error) => {
      if (reason.name !== "SyntaxError") throw reason;
    }) as Answer<Data> | undefined;
    return { response, answer };
  } catch (reason) {
    if (reason instanceof RequestError) throw reason;
    const { message, cause } = reason as Error & { cause?: { code?: string } };
    throw new RequestError(await at.refusal?.(at.endpoint) ?? `Nobody answers at ${at.endpoint}: ${cause?.code ?? message}.`, "UNREACHABLE");
  }
}

export const noGraphQL = ({ endpoint }: Post, { status }: Response) => `${endpoint} answered ${status}, and no GraphQL.`;
