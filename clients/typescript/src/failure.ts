// Why a request failed as a whole.

/** A request that failed as a whole. `code` is the server's (docs/errors.md), or UNREACHABLE if there was no answer. */
export class RequestError extends Error {
  readonly code: string;
  /** Finds the server's log line. */
  readonly requestId: string | null;
  /** Seconds after which it is worth trying again, if the server has said so. */
  readonly retryAfter: number | null;

  constructor(message: string, code: string, requestId: string | null = null, retryAfter: number | null = null) {
    super(message);
    this.name = "RequestError";
    this.code = code;
    this.requestId = requestId;
    this.retryAfter = retryAfter;
  }
}

/** Whatever was thrown, as an error. */
export const asError = (error: unknown) => (error instanceof Error ? error : new Error(String(error)));
