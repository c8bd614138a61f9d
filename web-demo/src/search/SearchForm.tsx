// The box in the header that looks for people and posts. People show while one types; what is looked for stands in the address.
import { type KeyboardEvent, type SubmitEvent, useId, useRef, useState } from "react";
import { Icon } from "../parts/Icon";
import { PersonRow } from "../people/PeopleList";
import { useFound } from "../people/useFound";
import { navigate, type Route, searchPath } from "../routing";

// As much as the server takes.
const MAX_CHARS = 100;

function SearchBox({ initial }: { initial: string }) {
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(initial);
  const [isOpen, setIsOpen] = useState(false);
  const wanted = isOpen ? text.trim() : "";
  const people = useFound(wanted);

  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    setIsOpen(false);
    if (text.trim() !== "") navigate(searchPath(text.trim()));
  }

  /** Down and up go through what is found, and Escape goes back to the box. */
  function onKeyDown(event: KeyboardEvent<HTMLFormElement>) {
    const stops = [...event.currentTarget.querySelectorAll<HTMLElement>("input, .search-results a")];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape" && isOpen) {
      event.preventDefault();
      setIsOpen(false);
      field.current?.focus();
    } else if (step !== undefined && isOpen) {
      event.preventDefault();
      stops.at((stops.indexOf(document.activeElement as HTMLElement) + step) % stops.length)?.focus();
    }
  }

  return (
    <form role="search" className="bar-search" aria-label="People and posts" onSubmit={onSubmit} onKeyDown={onKeyDown}
      onBlur={({ currentTarget, relatedTarget }) => { if (!currentTarget.contains(relatedTarget)) setIsOpen(false); }}>
      <label htmlFor={id}>Search people and posts</label>
      <input ref={field} id={id} name="text" type="search" placeholder="Search" value={text} maxLength={MAX_CHARS} required dir="auto"
        autoComplete="off" onChange={(event) => { setText(event.target.value); setIsOpen(true); }} data-testid="search-input" />
      <button type="submit" aria-label="Search" data-testid="search-submit"><Icon name="lens" /></button>
      {wanted !== "" && (
        <div className="search-results card" data-testid="search-results" onClick={(event) => { if (event.target instanceof Element && event.target.closest("a") !== null) setIsOpen(false); }}>
          <a className="search-posts" href={searchPath(wanted)}><Icon name="lens" /><span>Posts with “{wanted}”</span></a>
          {people !== null && people.length > 0 && <ul className="people">{people.map((person) => <PersonRow key={person.id} person={person} />)}</ul>}
          {people?.length === 0 && <p className="muted" data-testid="not-found">Nobody is called “{wanted}”.</p>}
        </div>
      )}
      <p role="status" className="unseen">{wanted === "" || people === null ? "" : people.length === 1 ? "One person found" : `${people.length} people found`}</p>
    </form>
  );
}

export function SearchForm({ route }: { route: Route }) {
  const text = route.page === "search" ? route.text : "";
  return <SearchBox key={text} initial={text} />;
}
