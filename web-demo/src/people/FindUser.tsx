// A box that finds a user by handle, and shows them with a follow button.
import { useLazyQuery } from "@apollo/client/react";
import { type SubmitEvent, useId } from "react";
import { textOf } from "../account/formText";
import { FindUserDocument } from "../api/documents";
import { describeFailure } from "../api/userErrors";
import { profilePath } from "../routing";
import { Avatar } from "./Avatar";
import { FollowButton } from "./FollowButton";

export function FindUser() {
  const id = useId();
  const [find, { data, error, loading, variables, called }] = useLazyQuery(FindUserDocument, { fetchPolicy: "network-only" });

  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    const handle = textOf(new FormData(event.currentTarget), "handle").trim().replace(/^@/, "");
    if (handle !== "") find({ variables: { handle } }).catch(() => { /* shown from `error` */ });
  }

  const user = loading ? null : data?.user;
  return (
    <section className="card find" aria-label="Find people">
      <form role="search" onSubmit={onSubmit}>
        <label htmlFor={id}>Find someone by handle</label>
        <div className="find-row">
          <input id={id} className="find-input" name="handle" type="search" placeholder="@handle" required autoCapitalize="none"
            autoComplete="off" spellCheck={false} data-testid="find-input" />
          <button type="submit" className="button" disabled={loading} data-testid="find-submit">Find</button>
        </div>
      </form>
      <div aria-live="polite">
        {user != null && (
          <div className="found" data-testid="found-user">
            <a className="person" href={profilePath(user.handle)} data-testid="found-link">
              <Avatar {...user} />
              <span><strong><bdi>{user.name}</bdi></strong><small>@{user.handle}</small></span>
            </a>
            {!user.isViewer && <FollowButton user={user} />}
          </div>
        )}
        {called && !loading && user == null && (
          <p className="field-error" data-testid="not-found">
            {error === undefined ? `No one is called @${variables.handle}. Check the spelling.` : describeFailure(error)}
          </p>
        )}
      </div>
    </section>
  );
}
