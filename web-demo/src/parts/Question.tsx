// Asks before something is done that cannot be seen to be undone; the answer has the focus.
import type { ReactNode } from "react";

interface QuestionProps {
  label: string;
  children: ReactNode;
  /** What is done: "Delete". */
  answer: string;
  testId: string;
  isBusy?: boolean;
  /** Why it was not done. */
  refusal?: string | null;
  onAnswer: () => void;
  onCancel: () => void;
}

export function Question({ label, children, answer, testId, isBusy = false, refusal = null, onAnswer, onCancel }: QuestionProps) {
  return (
    <span className="confirm" role="group" aria-label={label}>
      {refusal === null ? <span>{children}</span> : <span role="alert" className="field-error">{refusal}</span>}
      <button type="button" className="button danger small" autoFocus disabled={isBusy} onClick={onAnswer} data-testid={testId}>{answer}</button>
      <button type="button" className="button quiet small" onClick={onCancel}>Cancel</button>
    </span>
  );
}
