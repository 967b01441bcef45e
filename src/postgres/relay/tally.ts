import type { RelayEvent } from '../../relay/relay-event.ts';

/** What one handler did in this process since it was last written down. */
export interface TallyRow {
  readonly handler: string;
  readonly done: number;
  readonly retried: number;
  readonly dead: number;
  readonly suppressed: number;
  readonly refused: number;
}

type Counts = { -readonly [Name in Exclude<keyof TallyRow, 'handler'>]: number };

/** Stands for what no handler did. */
const NO_HANDLER = '';

/** Counts in memory what this process settles: nothing is written for a message. */
export class Tally {
  #rows = new Map<string, Counts>();

  observe(event: RelayEvent): void {
    if (event.kind === 'run-done') this.#of(event.handler).done += 1;
    else if (event.kind === 'run-failed') this.#of(event.handler)[event.next.kind === 'dead' ? 'dead' : 'retried'] += 1;
    else if (event.kind === 'run-refused') {
      const row = this.#of(event.handler);
      row.refused += 1;
      row.suppressed += 1;
    }
  }

  /** Messages that had come before. */
  duplicates(count: number): void {
    if (count > 0) this.#of(NO_HANDLER).suppressed += count;
  }

  get isEmpty(): boolean {
    return this.#rows.size === 0;
  }

  /** Gives what was counted, and begins anew. */
  take(): readonly TallyRow[] {
    const rows = [...this.#rows].map(([handler, counts]) => Object.assign({ handler }, counts));
    this.#rows = new Map();
    return rows;
  }

  /** What could not be written, to be written with the next. */
  putBack(rows: readonly TallyRow[]): void {
    for (const { handler, ...counts } of rows) {
      const row = this.#of(handler);
      for (const name of Object.keys(row) as (keyof Counts)[]) row[name] += counts[name];
    }
  }

  #of(handler: string): Counts {
    let row = this.#rows.get(handler);
    if (row === undefined) {
      row = { done: 0, retried: 0, dead: 0, suppressed: 0, refused: 0 };
      this.#rows.set(handler, row);
    }
    return row;
  }
}
