// What signing in and signing up have in common: send, and keep the refusals for the form.
import { useState } from "react";
import { describeFailure, type UserError, withRetryTime } from "../api/userErrors";

export function useCredentialForm<Input>(send: (input: Input) => Promise<UserError[]>) {
  const [errors, setErrors] = useState<readonly UserError[]>([]);
  const [failure, setFailure] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);

  async function submit(input: Input) {
    setBusy(true);
    setErrors([]);
    setFailure(null);
    try {
      setErrors(withRetryTime(await send(input)));
    } catch (error) {
      setFailure(describeFailure(error));
    } finally {
      setBusy(false);
    }
  }

  return { errors, failure, busy, submit };
}
