/** For those who are checked by TypeScript: web-demo/e2e. */
export interface Line {
  address: string;
  silence(): void;
  mend(): void;
  end(): void;
}

export function lineTo(address: string): Promise<Line>;
