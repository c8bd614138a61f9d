// Operations, repeated where that is safe.
import { RequestError } from "./failure.js";
import { type Answer, noGraphQL, post, type Post } from "./post.js";
import { type Rest, textOf, type TypedDocument } from "./typed.js";
import { pause, waitMs } from "./waiting.js";

/** How often a request is sent at most that may be sent again. */
const TRIES = 4;
const MOST_WAIT_MS = 30_000;

/** Codes of what may be otherwise a little later. */
export const PASSING = ["RATE_LIMITED", "OVERLOADED", "INTERNAL_SERVER_ERROR"];

/** Whether the same request may succeed a little later. */
export const isPassing = (error: unknown): error is RequestError =>
  error instanceof RequestError && (error.code === "UNREACHABLE" || PASSING.includes(error.code));

export interface RequestOptions {
  /** Whether it may be sent again when its answer was lost: a query, a change that says how things are to be, a publish with its key. */
  safe?: boolean;
  signal?: AbortSignal;
}

export interface Send {
  <Data>(document: string, variables?: Record<string, unknown>, options?: RequestOptions): Promise<Data>;
  <Data, Variables>(document: TypedDocument<Data, Variables>, ...rest: Rest<Variables, RequestOptions>): Promise<Data>;
}

/** The error that an answer tells, if it has no data to use. */
function faultOf(at: Post, response: Response, answer: Answer<unknown> | undefined): RequestError | null {
  if (answer?.data != null && answer.errors === undefined) return null;
  const { status, headers } = response;
  const fault = answer?.errors?.[0];
  const { code = status === 429 ? "RATE_LIMITED" : "INTERNAL_SERVER_ERROR", requestId = headers.get("x-request-id"), retryAfter } = fault?.extensions ?? {};
  const after = retryAfter ?? Number(headers.get("retry-after") ?? NaN);
  return new RequestError(fault?.message ?? noGraphQL(at, response), code, requestId, Number.isFinite(after) ? after : null);
}

export function createSend(at: Post): Send {
  async function once<Data>(query: string, variables: unknown, signal: AbortSignal | undefined): Promise<Data> {
    const { response, answer } = await post<Data>(at, query, variables, signal && AbortSignal.any([signal, AbortSignal.timeout(at.answerMs)]));
    const fault = faultOf(at, response, answer);
    if (fault !== null) throw fault;
    return answer?.data as Data;
  }

  return async <Data>(document: unknown, variables: unknown = {}, { safe, signal }: RequestOptions = {}) => {
    const query = await textOf(document);
    for (let tries = 1; ; tries += 1) {
      try {
        return await once<Data>(query, variables, signal);
      } catch (error) {
        if (signal?.aborted) throw signal.reason;
        // Of what was refused for load nothing was done.
        if (!isPassing(error) || !((safe ?? !query.startsWith("mutation")) || error.code === "OVERLOADED") || tries === TRIES) throw error;
        await pause(Math.min(Math.max(waitMs(tries - 1), (error.retryAfter ?? 0) * 1000), MOST_WAIT_MS));
      }
    }
  };
}
