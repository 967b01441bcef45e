import type { Token } from '../../relay/relay-store.ts';
import type { Row } from '../driver/driver.ts';

/**
 * The current leases of worker $1 among the units $2, locked until the transaction ends: whoever takes a unit over waits for
 * this statement, and this statement, coming second, finds the unit gone. `exists` and `for key share` let a takeover slip
 * between. In the order of the units, so that two never wait for each other.
 */
export function fence(schema: string): string {
  return `f as materialized (
      select l.unit, l.epoch from ${schema}.lease l
      where l.owner = $1::text::uuid and l.unit = any ($2::text::int[]) order by l.unit for share)`;
}

/**
 * Whether a row `d` is the one that `x` names, whichever version it has now. "Any" of one unit, because with "=" the planner may begin with the table: vacuumed at
 * a moment when it was empty it is taken for one row, and all of its index was read for each of a thousand targets (17 s with
 * 20,000 rows in it).
 */
export const IS_PLACE = `d.unit = any (array[x.unit]) and d.state = x.state and d.seq = x.seq`;

/** The same, in the version that `x` names. */
export const IS_TARGET: string = `${IS_PLACE} and d.version = x.version`;

/** How a statement with `fence` ends, whose written rows are `d`: one row with the `seq`s of those and the tokens that hold. */
export const FENCED_ANSWER = `select (select string_agg(seq::text, ',') from d), (select string_agg(unit || ':' || epoch, ',') from f)`;

/** What a fenced statement answered. */
export interface Fenced {
  readonly seqs: readonly number[];
  isHeld(token: Token): boolean;
}

/** Reads `FENCED_ANSWER`. */
export function decodeFenced(rows: readonly Row[]): Fenced {
  const [seqs, tokens] = rows[0] ?? [];
  const held = new Set(wordsIn(tokens));
  return { seqs: wordsIn(seqs).map(Number), isHeld: ({ unit, epoch }) => held.has(`${unit}:${epoch}`) };
}

function wordsIn(text: unknown): readonly string[] {
  return typeof text === 'string' ? text.split(',') : [];
}
