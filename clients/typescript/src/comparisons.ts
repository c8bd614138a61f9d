// When a list is compared with the server's: soon after a doubt, later each time it has differed, and now and then without a reason.
type Timer = ReturnType<typeof setTimeout> | undefined;

/** The longest wait before a list is compared again that differed each time. */
const LONGEST_SETTLE_MS = 30_000;

export class Comparisons {
  readonly #settleMs: number;
  readonly #checkMs: number;
  readonly #compare: () => void;
  readonly #check: () => void;
  #soon: Timer;
  #later: Timer;
  /** How many comparisons in a row have differed. */
  #differences = 0;

  /** Calls `compare` when it is time to, and `check` when it has been quiet for `checkMs`; 0 for never. */
  constructor({ settleMs, checkMs }: { settleMs: number; checkMs: number }, compare: () => void, check: () => void) {
    [this.#settleMs, this.#checkMs, this.#compare, this.#check] = [settleMs, checkMs, compare, check];
  }

  get isDue() { return this.#soon !== undefined; }

  soon() {
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      this.#compare();
    }, Math.min(this.#settleMs * 2 ** this.#differences, LONGEST_SETTLE_MS));
  }

  later() {
    clearTimeout(this.#later);
    if (this.#checkMs !== 0) this.#later = setTimeout(this.#check, this.#checkMs);
  }

  ended(hasDiffered: boolean) { this.#differences = hasDiffered ? this.#differences + 1 : 0; }

  /** None soon: what is read now is compared with nothing. */
  forget() {
    clearTimeout(this.#soon);
    this.#soon = undefined;
  }

  stop() {
    this.forget();
    clearTimeout(this.#later);
  }
}
