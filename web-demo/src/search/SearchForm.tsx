// The box in the header that looks for people and posts; what is looked for stands in the address.
import { type SubmitEvent, useId } from "react";
import { textOf } from "../account/formText";
import { Icon } from "../parts/Icon";
import { type Route, searchPath } from "../routing";

// As much as the server takes.
const MAX_CHARS = 100;

export function SearchForm({ route }: { route: Route }) {
  const id = useId();
  const text = route.page === "search" ? route.text : "";

  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    const wanted = textOf(new FormData(event.currentTarget), "text").trim();
    if (wanted !== "") window.location.hash = searchPath(wanted);
  }

  return (
    <form key={text} role="search" className="bar-search" aria-label="People and posts" onSubmit={onSubmit}>
      <label htmlFor={id}>Search people and posts</label>
      <input id={id} name="text" type="search" placeholder="Search" defaultValue={text} maxLength={MAX_CHARS} required
        autoComplete="off" data-testid="search-input" />
      <button type="submit" aria-label="Search" data-testid="search-submit"><Icon name="lens" /></button>
    </form>
  );
}
