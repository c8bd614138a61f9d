// Another handle for the viewer. The page goes on with it: on the profile.
import { type SubmitEvent, useState } from "react";
import { textOf } from "../account/formText";
import { ChangeHandleDocument } from "../api/accountDocuments";
import { ask, tidefeed } from "../api/tidefeed";
import { describeFailure, errorAt, errorsElsewhere, type UserError } from "../api/userErrors";
import { FormErrors } from "../parts/FormErrors";
import { TextField } from "../parts/TextField";
import { navigate, profilePath } from "../routing";

export function ChangeHandle({ handle }: { handle: string }) {
  const [loading, setLoading] = useState(false);
  const [errors, setErrors] = useState<readonly UserError[]>([]);
  const [failure, setFailure] = useState<string | null>(null);

  async function save(wanted: string) {
    setFailure(null);
    setLoading(true);
    try {
      const { changeHandle: payload } = await ask(ChangeHandleDocument, { input: { handle: wanted } });
      setErrors(payload?.userErrors ?? []);
      if (payload?.user == null) return;
      navigate(profilePath(payload.user.handle));
      tidefeed.tell({ user: payload.user });
    } catch (error) {
      setFailure(describeFailure(error));
    } finally {
      setLoading(false);
    }
  }

  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    void save(textOf(new FormData(event.currentTarget), "handle").trim().replace(/^@/, ""));
  }

  return (
    <section className="card settings" aria-labelledby="handle">
      <h2 id="handle">Handle</h2>
      <form className="credential-form" onSubmit={onSubmit} data-testid="handle-form">
        <TextField label="Your handle" name="handle" autoComplete="username" autoCapitalize="none" spellCheck={false} required defaultValue={handle}
          hint="Letters, digits and _. Anybody may take the old one at once, and links to it stop working." error={errorAt(errors, "handle")} />
        <FormErrors messages={failure === null ? errorsElsewhere(errors, ["handle"]) : [failure]} />
        <div><button type="submit" className="button small" disabled={loading} data-testid="handle-save">Change handle</button></div>
      </form>
    </section>
  );
}
