// Requests over HTTP, repeated where that is safe.
import { RequestError } from "./failure.js";
import type { Session } from "./session.js";
import { pause, waitMs } from "./waiting.js";

/** How often a request is sent at most that may be sent again. */
const TRIES = 4;
const MOST_WAIT_MS = 30_000;

/** Codes of what may be otherwise a little later. */
export const PASSING = ["RATE_LIMITED", "OVERLOADED", "INTERNAL_SERVER_ERROR"];

interface GraphQLFault { message: string; extensions?: { code?: string; requestId?: string; retryAfter?: number } }
interface Answer { data?: unknown; errors?: GraphQLFault[] }

export interface RequestOptions {
  /** Whether it may be sent again when its answer was lost: a query, a change that says how things are to be, a publish with its key. */
  safe?: boolean;
  signal?: AbortSignal;
}

export type Send = <Data>(query: string, variables?: Record<string, unknown>, options?: RequestOptions) => Promise<Data>;

/** The error that an answer tells, if it has no data to use. */
function faultOf({ status, headers }: Response, answer: Answer | null): RequestError | null {
  if (answer?.data != null && answer.errors === undefined) return null;
  const fault = answer?.errors?.[0];
  const after = fault?.extensions?.retryAfter ?? Number(headers.get("retry-after") ?? NaN);
  const code = fault?.extensions?.code ?? (status === 429 ? "RATE_LIMITED" : "INTERNAL_SERVER_ERROR");
  const requestId = fault?.extensions?.requestId ?? headers.get("x-request-id");
  return new RequestError(fault?.message ?? `The server answered ${status}.`, code, requestId, Number.isFinite(after) ? after : null);
}

/** `answerMs`: how long an answer may take. */
export function createSend(endpoint: string, session: Session, answerMs: number): Send {
  async function once<Data>(query: string, variables: unknown, signal: AbortSignal | undefined): Promise<Data> {
    const deadline = AbortSignal.timeout(answerMs);
    const init = {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ query, variables }),
      signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
    };
    try {
      const response = await session.fetch(endpoint, init);
      const answer = await response.json().catch((error: unknown) => {
        if (response.ok) throw error;
        return null;
      }) as Answer | null;
      const fault = faultOf(response, answer);
      if (fault !== null) throw fault;
      return answer?.data as Data;
    } catch (error) {
      if (error instanceof RequestError || signal?.aborted) throw error;
      throw new RequestError("The server cannot be reached.", "UNREACHABLE");
    }
  }

  return async (query, variables = {}, { safe = !query.startsWith("mutation"), signal } = {}) => {
    for (let tries = 1; ; tries += 1) {
      try {
        return await once(query, variables, signal);
      } catch (error) {
        const passes = error instanceof RequestError && (error.code === "UNREACHABLE" || PASSING.includes(error.code));
        // Of what was refused for load nothing was done.
        const repeats = safe || (error instanceof RequestError && error.code === "OVERLOADED");
        if (!passes || !repeats || tries === TRIES || signal?.aborted) throw error;
        await pause(Math.min(Math.max(waitMs(tries - 1), (error.retryAfter ?? 0) * 1000), MOST_WAIT_MS));
      }
    }
  };
}
