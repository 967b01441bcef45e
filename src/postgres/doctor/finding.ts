import type { SqlRunner } from '../sql-runner.ts';

/** What one check found. A problem makes the doctor's exit code 1; a warning does not. */
export interface CheckFinding {
  readonly check: string;
  readonly status: 'ok' | 'warning' | 'problem' | 'skipped';
  readonly found: string;
  /** What to do; there unless all is well. */
  readonly next?: string;
}

/** What a check of the database may use. */
export interface Examination {
  readonly sql: SqlRunner;
  /** Its name, not quoted. */
  readonly schema: string;
  /** Sessions that idle in a transaction for longer than this are stuck. */
  readonly stuckMs: number;
}

/** Looks at one thing. */
export type DatabaseCheck = (examination: Examination) => Promise<CheckFinding | readonly CheckFinding[]>;

/** How long a session may idle in a transaction, unless somebody says otherwise. */
export const STUCK_MS = 60_000;

/** The first row of an answer. Everything is selected as text; what is null is empty. */
export async function firstRow(
  sql: SqlRunner,
  text: string,
  params: readonly string[] = [],
): Promise<Readonly<Record<string, string>>> {
  const [row = {}] = await sql.query(text, params);
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, typeof value === 'string' ? value : '']));
}
