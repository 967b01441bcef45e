import type { SqlRunner } from '../../postgres/sql-runner.ts';
import type { Database } from '../database.ts';
import type { Io } from '../io.ts';

/** What one check found. A problem makes the doctor's exit code 1; a warning does not. */
export interface Finding {
  readonly check: string;
  readonly status: 'ok' | 'warning' | 'problem' | 'skipped';
  readonly found: string;
  /** What to do; there unless all is well. */
  readonly next?: string;
}

/** What a check may use. */
export interface Examination {
  readonly io: Io;
  readonly database: Database;
  readonly sql: SqlRunner;
  /** Sessions that idle in a transaction for longer than this are stuck. */
  readonly stuckMs: number;
}

/** Looks at one thing. What it throws is shown as a problem. */
export type Check = (examination: Examination) => Promise<Finding | readonly Finding[]>;

/** The first row of an answer. Everything is selected as text; what is null is empty. */
export async function firstRow(
  sql: SqlRunner,
  text: string,
  params: readonly string[] = [],
): Promise<Readonly<Record<string, string>>> {
  const [row = {}] = await sql.query(text, params);
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, typeof value === 'string' ? value : '']));
}
