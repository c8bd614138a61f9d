import type { SubmitEvent } from "react";
import { GlimpseDocument } from "../api/glimpseDocuments";
import { tidefeed } from "../api/tidefeed";
import { useRead } from "../api/useRead";
import { errorAt, errorsElsewhere } from "../api/userErrors";
import { FormErrors } from "../parts/FormErrors";
import { TextField } from "../parts/TextField";
import { DEMO } from "./demo";
import { textOf } from "./formText";
import { useCredentialForm } from "./useCredentialForm";

const FIELDS = ["handle", "password"];

export function SignInForm() {
  const form = useCredentialForm(tidefeed.session.signIn);
  const { data } = useRead(GlimpseDocument, { handle: DEMO.handle });
  const isWithoutDemo = data !== null && data.user === null;

  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    const entries = new FormData(event.currentTarget);
    void form.submit({ handle: textOf(entries, "handle"), password: textOf(entries, "password") });
  }

  const elsewhere = errorsElsewhere(form.errors, FIELDS);
  return (
    <form className="credential-form" onSubmit={onSubmit} data-testid="sign-in-form">
      {!isWithoutDemo && (
        <>
          <button type="button" className="button wide" disabled={form.busy} data-testid="sign-in-demo"
            onClick={() => { void form.submit(DEMO); }}>Look around</button>
          <p className="or"><span>or sign in</span></p>
        </>
      )}
      <TextField label="Handle" name="handle" autoComplete="username" autoCapitalize="none" spellCheck={false} required
        error={errorAt(form.errors, "handle")} />
      <TextField label="Password" name="password" type="password" autoComplete="current-password" required
        error={errorAt(form.errors, "password")} />
      <FormErrors messages={form.failure === null ? elsewhere : [form.failure]} />
      <button type="submit" className={isWithoutDemo ? "button wide" : "button quiet wide"} disabled={form.busy} data-testid="sign-in">Sign in</button>
    </form>
  );
}
