import { type ComponentProps, useId } from "react";

interface TextFieldProps extends Omit<ComponentProps<"input">, "id"> {
  label: string;
  hint?: string;
  error?: string;
}

/** A labelled input whose hint and error are read out with it. */
export function TextField({ label, hint, error, ...input }: TextFieldProps) {
  const id = useId();
  const note = error ?? hint;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input dir="auto" {...input} id={id} aria-invalid={error !== undefined} aria-describedby={note === undefined ? undefined : `${id}-note`} />
      {note !== undefined && (
        <p id={`${id}-note`} className={error === undefined ? "field-hint" : "field-error"}
          data-testid={error === undefined ? undefined : `error-${input.name ?? label}`}>{note}</p>
      )}
    </div>
  );
}
