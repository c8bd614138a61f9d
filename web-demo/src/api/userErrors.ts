// Where an expected refusal belongs: at the field that it names, or at the form as a whole.
import { RequestError, type UserError } from "@tidefeed/client";

export type { UserError };

/** The first message for `field`, which may stand anywhere in the path: `["input", "media", "0", "url"]`; of the one `at` that place, if it is given. */
export function errorAt(errors: readonly UserError[], field: string, at?: number): string | undefined {
  return errors.find((error) => error.field?.includes(field) && (at === undefined || error.field.includes(String(at))))?.message;
}

/** The messages that none of the form's fields shows. */
export function errorsElsewhere(errors: readonly UserError[], fields: readonly string[]): string[] {
  return errors
    .filter((error) => !fields.some((field) => error.field?.includes(field)))
    .map((error) => error.message);
}

const clock = new Intl.DateTimeFormat("en", { timeStyle: "medium" });

/** `errors` with the time at which it is worth trying again, where too many attempts have failed; by default what each says itself. */
export function withRetryTime(errors: readonly UserError[], retryAt: string | null = null): UserError[] {
  return errors.map((error) => {
    const at = error.retryAt ?? retryAt;
    if (error.code !== "TOO_MANY_ATTEMPTS" || at === null) return error;
    // A second is shown as it is over.
    return { ...error, message: `Too many attempts have failed. Try again at ${clock.format(Math.ceil(Date.parse(at) / 1000) * 1000)}.` };
  });
}

const WORDS: Record<string, string> = {
  UNREACHABLE: "The server cannot be reached. Check your connection and try again.",
  INTERNAL_SERVER_ERROR: "Something went wrong on the server. Wait a moment and try again.",
  OVERLOADED: "The server is busy. Wait a moment and try again.",
  RATE_LIMITED: "That was a lot in a short time. Wait a minute and try again.",
  UNAUTHENTICATED: "Your session has ended. Sign in again to go on.",
  QUERY_TOO_COMPLEX: "This page asks for more than the server gives. Reload it and try again.",
};

/** What to tell a person when a request failed as a whole: what has happened, and what they can do. What a code has no words for, the server has said in its own. */
export function describeFailure(error: unknown): string {
  if (!(error instanceof RequestError)) return "Something went wrong. Reload the page and try again.";
  return WORDS[error.code] ?? error.message;
}
