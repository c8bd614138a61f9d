// "5m ago" for the reader, the exact time in the title and in the markup.
import { useNow } from "./useNow";

const UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
];
const RELATIVE_LIMIT_MS = 7 * 86_400_000;
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "narrow" });
const day = new Intl.DateTimeFormat("en", { dateStyle: "medium" });
const exact = new Intl.DateTimeFormat("en", { dateStyle: "full", timeStyle: "medium" });

function describeAge(time: number, now: number): string {
  const age = now - time;
  if (age > RELATIVE_LIMIT_MS) return day.format(time);
  for (const [unit, size] of UNITS) {
    if (age >= size) return relative.format(-Math.floor(age / size), unit);
  }
  return "just now";
}

export function RelativeTime({ iso }: { iso: string }) {
  const now = useNow();
  const time = Date.parse(iso);
  return <time dateTime={iso} title={exact.format(time)}>{describeAge(time, now)}</time>;
}
