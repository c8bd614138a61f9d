import { useEffect, useRef } from "react";
import { Icon } from "./Icon";
import { KEYS } from "./useKeyboard";

export function KeyboardHelp({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => { dialog.current?.showModal(); }, []);
  return (
    <dialog ref={dialog} className="help card" aria-labelledby="help-title" onClose={onClose} data-testid="keyboard-help">
      <div className="page-head">
        <h2 id="help-title">Keyboard shortcuts</h2>
        <button type="button" className="icon-button" aria-label="Close" onClick={() => { dialog.current?.close(); }}><Icon name="cross" /></button>
      </div>
      <dl>{KEYS.map(([key, meaning]) => <div key={key}><dt><kbd>{key}</kbd></dt><dd>{meaning}</dd></div>)}</dl>
    </dialog>
  );
}
