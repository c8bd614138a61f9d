// The end of an account: asked twice, the second time for the password.
import { type SubmitEvent, useState } from "react";
import { textOf } from "../account/formText";
import { tidefeed } from "../api/tidefeed";
import { describeFailure, errorAt, errorsElsewhere, type UserError, withRetryTime } from "../api/userErrors";
import { FormErrors } from "../parts/FormErrors";
import { TextField } from "../parts/TextField";
import { forgetDrafts } from "../timeline/drafts";

function Confirmation({ handle, onStay }: { handle: string; onStay: () => void }) {
  const [loading, setLoading] = useState(false);
  const [errors, setErrors] = useState<readonly UserError[]>([]);
  const [failure, setFailure] = useState<string | null>(null);

  async function leave(password: string) {
    setFailure(null);
    setLoading(true);
    try {
      const refused = await tidefeed.session.deleteAccount(password);
      if (refused.length === 0) forgetDrafts();
      setErrors(withRetryTime(refused));
    } catch (error) {
      setFailure(describeFailure(error));
    } finally {
      setLoading(false);
    }
  }

  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    void leave(textOf(new FormData(event.currentTarget), "password"));
  }

  return (
    <form className="credential-form" onSubmit={onSubmit} data-testid="delete-form">
      <TextField label={`Password of @${handle}`} name="password" type="password" autoComplete="current-password" required autoFocus
        hint="There is no way back." error={errorAt(errors, "password")} />
      <FormErrors messages={failure === null ? errorsElsewhere(errors, ["password"]) : [failure]} />
      <div className="confirm">
        <button type="submit" className="button danger small" disabled={loading} data-testid="delete-confirm">Delete for good</button>
        <button type="button" className="button quiet small" onClick={onStay}>Cancel</button>
      </div>
    </form>
  );
}

export function DeleteAccount({ handle }: { handle: string }) {
  const [asking, setAsking] = useState(false);
  return (
    <section className="card settings" aria-labelledby="delete">
      <h2 id="delete">Delete account</h2>
      <p className="muted">
        Everything that you have published leaves every page at once, nobody follows you any more, and all your sessions end. Nobody else ever gets @{handle}.
      </p>
      {asking
        ? <Confirmation handle={handle} onStay={() => { setAsking(false); }} />
        : <div><button type="button" className="button danger small" onClick={() => { setAsking(true); }} data-testid="delete-account">Delete account</button></div>}
    </section>
  );
}
