// How long to wait before a try, and what ends the wait early. Works where there is no window, too.

/** First wait, and the longest. */
const [FIRST_MS, LONGEST_MS] = [500, 20_000];

/** Calls `listener` when the machine is online again, or somebody looks at the page again. Returns a function that ends it. */
export function onWakeUp(listener: () => void): () => void {
  const over = new AbortController();
  const options = { signal: over.signal };
  globalThis.addEventListener?.("online", listener, options);
  globalThis.document?.addEventListener("visibilitychange", () => { if (document.visibilityState === "visible") listener(); }, options);
  return () => { over.abort(); };
}

/** Whether the machine says that it has a network; where it says nothing, it has. */
export const isOnline = () => (globalThis.navigator as { onLine?: boolean } | undefined)?.onLine !== false;

/** Resolves after `ms`, or at once when the machine or its user wakes up. */
export async function pause(ms: number): Promise<void> {
  let [timer, left]: [unknown, () => void] = [undefined, () => {}];
  await new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
    left = onWakeUp(resolve);
  });
  clearTimeout(timer as number);
  left();
}

/** Longer each time up to `longestMs`, and different for each client, so that not all of a restarted server's come at once. */
export const waitMs = (tries: number, longestMs = LONGEST_MS) => Math.min(FIRST_MS * 2 ** tries, longestMs) * (0.5 + Math.random() / 2);

/** A key that nobody else has; `crypto.randomUUID` is missing on pages that came over plain http. */
export const freshKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
