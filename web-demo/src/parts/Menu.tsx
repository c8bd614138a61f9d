// A button that opens a menu over everything else, as the ARIA pattern has it: arrows, Home and End move, Escape gives the focus back.
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { Icon, type IconName } from "./Icon";

export interface MenuItem {
  name: string;
  icon: IconName;
  testId: string;
  isDangerous?: boolean;
  act: () => void;
}

interface MenuProps {
  /** What the menu is of: "More about this post". */
  label: string;
  items: () => MenuItem[];
  className?: string;
  testId?: string;
}

const GAP = 6;

/** Below its button and in line with its end, or above it where there is no room below. */
function place(panel: HTMLElement, button: HTMLElement) {
  const { top, bottom, right } = button.getBoundingClientRect();
  const { offsetWidth, offsetHeight } = panel;
  panel.style.left = `${Math.max(GAP, right - offsetWidth)}px`;
  panel.style.top = `${bottom + GAP + offsetHeight < window.innerHeight ? bottom + GAP : Math.max(GAP, top - GAP - offsetHeight)}px`;
}

function onArrow(event: KeyboardEvent<HTMLElement>) {
  const items = [...event.currentTarget.querySelectorAll<HTMLElement>("[role=menuitem]")];
  const at = items.indexOf(document.activeElement as HTMLElement);
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
  if (event.key === "Tab") event.currentTarget.hidePopover();
  if (next === undefined) return;
  event.preventDefault();
  items.at(next % items.length)?.focus();
}

export function Menu({ label, items, className = "action", testId = "more" }: MenuProps) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const [isOpen, setIsOpen] = useState(false);

  useEffect(() => {
    const [shown, opener] = [panel.current, button.current];
    if (!isOpen || shown === null || opener === null) return;
    place(shown, opener);
    shown.querySelector<HTMLElement>("[role=menuitem]")?.focus({ preventScroll: true });
    const close = () => { shown.hidePopover(); };
    const over = new AbortController();
    for (const event of ["scroll", "resize"]) window.addEventListener(event, close, { signal: over.signal });
    return () => { over.abort(); };
  }, [isOpen]);

  return (
    <>
      <button ref={button} type="button" className={className} aria-label={label} title="More" aria-haspopup="menu" aria-expanded={isOpen}
        popoverTarget={id} data-testid={testId}><Icon name="more" /></button>
      <div ref={panel} id={id} popover="auto" role="menu" aria-label={label} className="menu card" onKeyDown={onArrow}
        onToggle={(event) => { setIsOpen(event.newState === "open"); }}>
        {isOpen && items().map(({ name, icon, testId: item, isDangerous = false, act }) => (
          <button key={item} type="button" role="menuitem" tabIndex={-1} className={isDangerous ? "danger" : undefined} data-testid={item}
            onClick={() => {
              panel.current?.hidePopover();
              act();
            }}><Icon name={icon} /><span>{name}</span></button>
        ))}
      </div>
    </>
  );
}
