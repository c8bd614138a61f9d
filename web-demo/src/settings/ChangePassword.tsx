// Another password for the viewer; all of their other sessions end with the old one.
import { type SubmitEvent, useState } from "react";
import { textOf } from "../account/formText";
import { ChangePasswordDocument, SessionsDocument } from "../api/accountDocuments";
import { ask, tidefeed } from "../api/tidefeed";
import { describeFailure, errorAt, errorsElsewhere, type UserError, withRetryTime } from "../api/userErrors";
import { FormErrors } from "../parts/FormErrors";
import { TextField } from "../parts/TextField";

const FIELDS = ["oldPassword", "newPassword"];

function describeDone(ended: number): string {
  if (ended === 0) return "Your password is changed.";
  return `Your password is changed. ${ended === 1 ? "One other session has" : `${ended} other sessions have`} ended.`;
}

export function ChangePassword() {
  const [loading, setLoading] = useState(false);
  const [errors, setErrors] = useState<readonly UserError[]>([]);
  const [failure, setFailure] = useState<string | null>(null);
  const [done, setDone] = useState<string | null>(null);

  async function save(form: HTMLFormElement) {
    const entries = new FormData(form);
    setFailure(null);
    setDone(null);
    setLoading(true);
    try {
      const input = { oldPassword: textOf(entries, "oldPassword"), newPassword: textOf(entries, "newPassword") };
      const payload = (await ask(ChangePasswordDocument, { input })).changePassword;
      setErrors(withRetryTime(payload?.userErrors ?? [], payload?.retryAt ?? null));
      if (payload?.endedSessionCount == null) return;
      setDone(describeDone(payload.endedSessionCount));
      form.reset();
      await tidefeed.query(SessionsDocument.toString()).refresh();
    } catch (error) {
      setFailure(describeFailure(error));
    } finally {
      setLoading(false);
    }
  }

  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    void save(event.currentTarget);
  }

  return (
    <section className="card settings" aria-labelledby="password">
      <h2 id="password">Password</h2>
      <form className="credential-form" onSubmit={onSubmit} data-testid="password-form">
        <TextField label="Current password" name="oldPassword" type="password" autoComplete="current-password" required
          error={errorAt(errors, "oldPassword")} />
        <TextField label="New password" name="newPassword" type="password" autoComplete="new-password" required
          hint="At least 8 characters. All other sessions end." error={errorAt(errors, "newPassword")} />
        <FormErrors messages={failure === null ? errorsElsewhere(errors, FIELDS) : [failure]} />
        <div><button type="submit" className="button small" disabled={loading} data-testid="password-save">Change password</button></div>
        <p role="status" data-testid="password-done">{done}</p>
      </form>
    </section>
  );
}
