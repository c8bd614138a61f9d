// Where an expected refusal belongs: at the field that it names, or at the form as a whole.
import type { UserErrorCode } from "../gql/graphql";

export interface UserError {
  message: string;
  code: UserErrorCode;
  field?: string[] | null;
}

/** The first message for `field`, which may stand anywhere in the path: `["input", "media", "0", "url"]`. */
export function errorAt(errors: readonly UserError[], field: string): string | undefined {
  return errors.find((error) => error.field?.includes(field) ?? false)?.message;
}

/** The messages that none of the form's fields shows. */
export function errorsElsewhere(errors: readonly UserError[], fields: readonly string[]): string[] {
  return errors
    .filter((error) => !fields.some((field) => error.field?.includes(field) ?? false))
    .map((error) => error.message);
}

const clock = new Intl.DateTimeFormat("en", { timeStyle: "medium" });

/** `errors` with the time at which it is worth trying again, where too many attempts have failed. */
export function withRetryTime(errors: readonly UserError[], retryAt: string | null): UserError[] {
  // A second is shown as it is over.
  const time = retryAt === null ? null : clock.format(Math.ceil(Date.parse(retryAt) / 1000) * 1000);
  return errors.map((error) => error.code !== "TOO_MANY_ATTEMPTS" || time === null ? error : {
    ...error, message: `Too many attempts have failed. Try again at ${time}.`,
  });
}

/** What to tell a person when a request failed as a whole. */
export function describeFailure(error: unknown): string {
  if (error instanceof TypeError) return "The server cannot be reached. Check your connection and try again.";
  return error instanceof Error ? error.message : "Something went wrong. Try again.";
}
