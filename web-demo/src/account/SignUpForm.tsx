import { useMutation } from "@apollo/client/react";
import type { SubmitEvent } from "react";
import { RegisterDocument } from "../api/documents";
import { errorAt, errorsElsewhere } from "../api/userErrors";
import type { RegisterUserInput } from "../gql/graphql";
import { FormErrors } from "../parts/FormErrors";
import { TextField } from "../parts/TextField";
import { textOf } from "./formText";
import { useCredentialForm } from "./useCredentialForm";

const FIELDS = ["handle", "name", "password", "bio"];

export function SignUpForm() {
  const [register] = useMutation(RegisterDocument);
  const form = useCredentialForm(async (input: RegisterUserInput) => (await register({ variables: { input } })).data?.registerUser);

  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    const entries = new FormData(event.currentTarget);
    void form.submit({
      handle: textOf(entries, "handle").trim(),
      name: textOf(entries, "name").trim(),
      password: textOf(entries, "password"),
      bio: textOf(entries, "bio").trim() || null,
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
