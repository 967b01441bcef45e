import type { BenchDatabase } from './bench-database.ts';

/** What a measure is given. */
export interface Bench {
  readonly database: BenchDatabase;
  /** Smaller counts: shows that everything works, and roughly how fast. */
  readonly isQuick: boolean;
  /** Progress, for a person who waits. */
  readonly say: (line: string) => void;
}
