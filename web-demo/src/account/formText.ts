/** The text of a form's field; empty if there is none. */
export function textOf(entries: FormData, name: string): string {
  const value = entries.get(name);
  return typeof value === "string" ? value : "";
}
