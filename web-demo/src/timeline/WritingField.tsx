// A field for a post or a reply. Ctrl+Enter (or Cmd+Enter) sends it, and who is meant by the beginning of an @name is offered while it is written.
import { type ComponentProps, type KeyboardEvent, useId, useRef, useState } from "react";
import { Avatar } from "../people/Avatar";
import { useFound } from "../people/useFound";

const BEGINNING = /(?<![\w@/])@([a-z0-9_]{1,30})$/i;

interface WritingFieldProps extends Omit<ComponentProps<"textarea">, "value" | "onChange"> {
  value: string;
  onText: (text: string) => void;
}

export function WritingField({ value, onText, ...field }: WritingFieldProps) {
  const id = useId();
  const element = useRef<HTMLTextAreaElement>(null);
  const [beginning, setBeginning] = useState("");
  const [at, setAt] = useState(0);
  const people = useFound(beginning) ?? [];
  const chosen = people[at % Math.max(1, people.length)];

  function look({ value: text, selectionStart, selectionEnd }: HTMLTextAreaElement) {
    setBeginning(selectionStart === selectionEnd ? BEGINNING.exec(text.slice(0, selectionStart))?.[0] ?? "" : "");
    setAt(0);
  }

  function complete(handle: string) {
    const caret = element.current?.selectionStart ?? value.length;
    const before = `${value.slice(0, caret - beginning.length)}@${handle} `;
    onText(before + value.slice(caret).trimStart());
    setBeginning("");
    requestAnimationFrame(() => {
      element.current?.focus();
      element.current?.setSelectionRange(before.length, before.length);
    });
  }

  function onKeyDown(event: KeyboardEvent<HTMLTextAreaElement>) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) return event.currentTarget.form?.requestSubmit();
    if (chosen === undefined || event.nativeEvent.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: people.length - 1 }[event.key];
    if (step !== undefined) setAt((at + step) % people.length);
    else if (event.key === "Enter" || event.key === "Tab") complete(chosen.handle);
    else if (event.key === "Escape") setBeginning("");
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  return (
    <div className="writing">
      <textarea {...field} ref={element} value={value} dir="auto" aria-autocomplete="list" aria-controls={people.length > 0 ? id : undefined}
        aria-activedescendant={chosen === undefined ? undefined : `${id}-${chosen.id}`} onKeyDown={onKeyDown} onBlur={() => { setBeginning(""); }}
        onSelect={(event) => { look(event.currentTarget); }}
        onChange={(event) => {
          onText(event.target.value);
          look(event.target);
        }} />
      {people.length > 0 && (
        <ul id={id} role="listbox" aria-label="People" className="completions card" data-testid="completions">
          {people.map((person) => (
            <li key={person.id} id={`${id}-${person.id}`} role="option" aria-selected={person === chosen} className="person"
              onPointerDown={(event) => {
                event.preventDefault();
                complete(person.handle);
              }}>
              <Avatar {...person} /><span><strong><bdi>{person.name}</bdi></strong><small>@{person.handle}</small></span>
            </li>
          ))}
        </ul>
      )}
      <p role="status" className="unseen">{chosen === undefined ? "" : `${people.length} people: arrows choose, Enter takes @${chosen.handle}.`}</p>
    </div>
  );
}
