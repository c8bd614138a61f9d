// What signing in and signing up have in common: send, begin the session, or keep the refusals for the form.
import { useState } from "react";
import { describeFailure, type UserError, withRetryTime } from "../api/userErrors";
import { beginSession } from "../session";

/** The parts that RegisterUserPayload and SignInPayload share. */
export interface Admission {
  user: { handle: string } | null;
  token: string | null;
  expiresAt: string | null;
  refreshToken: string | null;
  /** After too many failures to sign in: when to try again. */
  retryAt?: string | null;
  userErrors: UserError[];
}

export function useCredentialForm<Input>(send: (input: Input) => Promise<Admission | null | undefined>) {
  const [errors, setErrors] = useState<readonly UserError[]>([]);
  const [failure, setFailure] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);

  async function submit(input: Input) {
    setBusy(true);
    setErrors([]);
    setFailure(null);
    try {
      const admission = await send(input);
      if (admission?.token != null && admission.user !== null) {
        const { user, token, expiresAt, refreshToken } = admission;
        beginSession({ token, handle: user.handle, expiresAt, refreshToken });
      } else if (admission != null && admission.userErrors.length > 0) {
        setErrors(withRetryTime(admission.userErrors, admission.retryAt ?? null));
      } else {
        setFailure("The server gave no answer. Try again.");
      }
    } catch (error) {
      setFailure(describeFailure(error));
    } finally {
      setBusy(false);
    }
  }

  return { errors, failure, busy, submit };
}
