/** For those who are checked by TypeScript: web-demo/e2e. */
export interface Line {
  address: string;
  silence(): void;
  mend(): void;
  slow(ms: number): void;
  cut(): void;
  end(): void;
}

export function lineTo(address: string): Promise<Line>;
