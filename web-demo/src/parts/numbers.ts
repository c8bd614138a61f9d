// Numbers as people read them.
const compact = new Intl.NumberFormat("en", { notation: "compact" });
const full = new Intl.NumberFormat("en");

/** "1.2K": short, for places where many numbers stand. */
export function short(value: number): string {
  return compact.format(value);
}

/** "1,234". */
export function exact(value: number): string {
  return full.format(value);
}

/** "3 likes". */
export function counted(value: number, one: string, many: string): string {
  return `${short(value)} ${value === 1 ? one : many}`;
}

const MOST_TOLD = 99;

/** "12", or "99+" for what is more than that. */
export function countOf(value: number): string {
  return value > MOST_TOLD ? `${MOST_TOLD}+` : String(value);
}
