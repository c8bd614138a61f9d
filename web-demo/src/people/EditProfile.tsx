// The viewer's own profile, to be changed: name, words, picture.
import { type SubmitEvent, useId, useRef, useState } from "react";
import { textOf } from "../account/formText";
import { UpdateProfileDocument } from "../api/profileDocuments";
import { ask, tidefeed } from "../api/tidefeed";
import { describeFailure, errorAt, errorsElsewhere, type UserError } from "../api/userErrors";
import type { ProfileFragment } from "../gql/graphql";
import { FormErrors } from "../parts/FormErrors";
import { TextField } from "../parts/TextField";
import { exclusionsPath } from "../routing";

const FIELDS = ["name", "bio", "avatarUrl"];

interface ProfileFormProps {
  user: ProfileFragment;
  onDone: () => void;
}

function ProfileForm({ user, onDone }: ProfileFormProps) {
  const id = useId();
  const [loading, setLoading] = useState(false);
  const [errors, setErrors] = useState<readonly UserError[]>([]);
  const [failure, setFailure] = useState<string | null>(null);
  const bioError = errorAt(errors, "bio");

  async function save(entries: FormData) {
    const text = (name: string) => textOf(entries, name).trim();
    const input = { name: text("name"), bio: text("bio") || null, avatarUrl: text("avatarUrl") || null };
    setFailure(null);
    setLoading(true);
    try {
      const { updateProfile } = await ask(UpdateProfileDocument, { input });
      const refused = updateProfile?.userErrors ?? [];
      setErrors(refused);
      if (updateProfile?.user != null) tidefeed.tell({ user: updateProfile.user });
      if (refused.length === 0) onDone();
    } catch (error) {
      setFailure(describeFailure(error));
    } finally {
      setLoading(false);
    }
  }

  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    void save(new FormData(event.currentTarget));
  }

  return (
    <form className="credential-form" onSubmit={onSubmit} aria-label="Your profile" data-testid="profile-form">
      <TextField label="Name" name="name" defaultValue={user.name} autoComplete="name" required autoFocus error={errorAt(errors, "name")} />
      <div className="field">
        <label htmlFor={id}>About you</label>
        <textarea id={id} name="bio" dir="auto" rows={3} defaultValue={user.bio} aria-invalid={bioError !== undefined}
          aria-describedby={bioError === undefined ? undefined : `${id}-note`} />
        {bioError !== undefined && <p id={`${id}-note`} className="field-error">{bioError}</p>}
      </div>
      <TextField label="Address of your picture" name="avatarUrl" type="url" placeholder="https://…" defaultValue={user.avatarUrl ?? ""}
        hint="Without one, the server draws one for you." error={errorAt(errors, "avatarUrl")} />
      <FormErrors messages={failure === null ? errorsElsewhere(errors, FIELDS) : [failure]} />
      <div className="exclusions-choice">
        <button type="submit" className="button small" disabled={loading} data-testid="profile-save">Save</button>
        <button type="button" className="button quiet small" onClick={onDone}>Cancel</button>
      </div>
    </form>
  );
}

/** A button that opens the form below it, and has the focus again when that is closed. */
export function EditProfile({ user }: { user: ProfileFragment }) {
  const [editing, setEditing] = useState(false);
  const button = useRef<HTMLButtonElement>(null);

  function close() {
    setEditing(false);
    button.current?.focus();
  }

  return (
    <div className="edit-profile">
      <div className="exclusions-choice">
        <button ref={button} type="button" className="button quiet small" aria-expanded={editing} onClick={() => { setEditing(!editing); }}
          data-testid="edit-profile">Edit your profile</button>
        <a className="button quiet small" href={exclusionsPath("mute")} data-testid="kept-out">Muted and blocked</a>
      </div>
      {editing && <ProfileForm user={user} onDone={close} />}
    </div>
  );
}
