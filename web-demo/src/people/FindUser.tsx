// A box that finds people by the beginning of a name or a handle, each with a follow button.
import { type SubmitEvent, useId, useState } from "react";
import { textOf } from "../account/formText";
import { FoundPeople } from "./FoundPeople";

export function FindUser() {
  const id = useId();
  const [wanted, setWanted] = useState<string | null>(null);

  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    const text = textOf(new FormData(event.currentTarget), "name").trim();
    if (text !== "") setWanted(text);
  }

  return (
    <section className="card find" aria-label="Find people">
      <form role="search" aria-label="People" onSubmit={onSubmit}>
        <label htmlFor={id}>Find someone by name or handle</label>
        <div className="find-row">
          <input id={id} className="find-input" name="name" type="search" placeholder="Ada or @ada" required autoCapitalize="none"
            autoComplete="off" spellCheck={false} data-testid="find-input" />
          <button type="submit" className="button" data-testid="find-submit">Find</button>
        </div>
      </form>
      <div aria-live="polite">
        {wanted !== null && <FoundPeople key={wanted} text={wanted} nobody={`Nobody is called “${wanted}”. Check the spelling.`} />}
      </div>
    </section>
  );
}
