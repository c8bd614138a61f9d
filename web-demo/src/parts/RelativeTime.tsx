// "5m" for the reader, and ticking; the exact time in the title and in the markup.
import { useNow } from "./useNow";

const UNITS = [["d", 86_400_000], ["h", 3_600_000], ["m", 60_000]] as const;
const RELATIVE_LIMIT_MS = 7 * 86_400_000;
const thisYear = new Intl.DateTimeFormat("en", { month: "short", day: "numeric" });
const anyYear = new Intl.DateTimeFormat("en", { dateStyle: "medium" });
const exact = new Intl.DateTimeFormat("en", { dateStyle: "full", timeStyle: "medium" });
const main = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });

function describeAge(time: number, now: number): string {
  const age = now - time;
  if (age > RELATIVE_LIMIT_MS) return (new Date(time).getFullYear() === new Date(now).getFullYear() ? thisYear : anyYear).format(time);
  for (const [unit, size] of UNITS) {
    if (age >= size) return `${Math.floor(age / size)}${unit}`;
  }
  return "now";
}

const inWords = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const WORDS = { d: "day", h: "hour", m: "minute" } as const;

/** "5 minutes ago", to be read aloud. */
export function useAgeInWords(iso: string): string {
  const age = useNow() - Date.parse(iso);
  if (age > RELATIVE_LIMIT_MS) return main.format(Date.parse(iso));
  const [unit, size] = UNITS.find(([, least]) => age >= least) ?? ["m", Infinity];
  return size === Infinity ? "just now" : inWords.format(-Math.floor(age / size), WORDS[unit]);
}

/** "22 Nov 2026, 14:05": for the post that a page is about. */
export const exactTime = (iso: string) => main.format(Date.parse(iso));

/** `ago`: within a sentence, "5m ago". */
export function RelativeTime({ iso, ago = false }: { iso: string; ago?: boolean }) {
  const now = useNow();
  const time = Date.parse(iso);
  const age = describeAge(time, now);
  return <time dateTime={iso} title={exact.format(time)}>{ago && /\d[dhm]$/.test(age) ? `${age} ago` : age}</time>;
}
