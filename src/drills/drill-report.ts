/** Something that was broken on purpose. */
export interface Injected {
  readonly what: string;
  /** How often it really hit. One that never did proves nothing. */
  readonly hits: number;
}

/** One thing that was looked at. */
export interface Checked {
  readonly what: string;
  readonly expected: string;
  readonly seen: string;
  readonly held: boolean;
}

/** The ledger of a drill. */
export interface DrillReport {
  readonly name: string;
  readonly about: string;
  /** All that was expected was seen, and all that was injected has hit. */
  readonly held: boolean;
  readonly injected: readonly Injected[];
  readonly checked: readonly Checked[];
  /** Why it does not count, or why it did not come to its end. */
  readonly problem: string | undefined;
  readonly tookMs: number;
}
