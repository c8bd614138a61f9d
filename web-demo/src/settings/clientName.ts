// Tells a browser and its system from what it calls itself, which the server may have cut short at the end.
const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(e|A|iOS)?\//, "Edge"], [/\bOPR\//, "Opera"], [/\b(Firefox|FxiOS)\//, "Firefox"], [/(Chrome|Chromium|CriOS)\//, "Chrome"], [/\b(Safari|Version)\//, "Safari"],
];
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\bAndroid\b/, "Android"], [/\b(iPhone|iPad)\b/, "iOS"], [/\bWindows\b/, "Windows"], [/\bMac OS X\b/, "macOS"], [/\bLinux\b/, "Linux"],
];

function firstIn(table: typeof BROWSERS, userAgent: string): string | undefined {
  return table.find(([mark]) => mark.test(userAgent))?.[1];
}

/** "Firefox on Linux"; for other clients the first word of their name. */
export function clientName(userAgent: string): string {
  const browser = firstIn(BROWSERS, userAgent);
  const system = firstIn(SYSTEMS, userAgent);
  if (system !== undefined) return `${browser ?? "A browser"} on ${system}`;
  return browser ?? /^[^\s/]+/.exec(userAgent)?.[0] ?? "Unknown client";
}
