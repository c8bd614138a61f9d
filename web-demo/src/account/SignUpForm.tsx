import type { SubmitEvent } from "react";
import { tidefeed } from "../api/tidefeed";
import { errorAt, errorsElsewhere } from "../api/userErrors";
import { FormErrors } from "../parts/FormErrors";
import { TextField } from "../parts/TextField";
import { textOf } from "./formText";
import { useCredentialForm } from "./useCredentialForm";

const FIELDS = ["handle", "name", "password", "bio"];

export function SignUpForm() {
  const form = useCredentialForm(tidefeed.session.register);

  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    const entries = new FormData(event.currentTarget);
    const bio = textOf(entries, "bio").trim();
    void form.submit({
      handle: textOf(entries, "handle").trim(),
      name: textOf(entries, "name").trim(),
      password: textOf(entries, "password"),
      ...(bio === "" ? {} : { bio }),
    });
  }

  const elsewhere = errorsElsewhere(form.errors, FIELDS);
  return (
    <form className="credential-form" onSubmit={onSubmit} data-testid="sign-up-form">
      <TextField label="Handle" name="handle" autoComplete="username" autoCapitalize="none" spellCheck={false} required
        hint="How others find you: letters, digits and _." error={errorAt(form.errors, "handle")} />
      <TextField label="Name" name="name" autoComplete="name" required error={errorAt(form.errors, "name")} />
      <TextField label="Password" name="password" type="password" autoComplete="new-password" required
        hint="At least 8 characters." error={errorAt(form.errors, "password")} />
      <TextField label="About you (optional)" name="bio" error={errorAt(form.errors, "bio")} />
      <FormErrors messages={form.failure === null ? elsewhere : [form.failure]} />
      <button type="submit" className="button wide" disabled={form.busy} data-testid="sign-up">Create account</button>
    </form>
  );
}
