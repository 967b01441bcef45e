import { OptionCheck } from '../kernel/check-options.ts';
import { HoldfastError, isHoldfastError } from '../kernel/error.ts';
import { boundedRunner } from './bounded-runner.ts';
import { parseVersion, versionStatement } from './check-version.ts';
import { ANSWER_TIMEOUT_RULE } from './driver/time-limit.ts';
import { type Migration, MIGRATIONS } from './migrations.ts';
import { quotedSchema } from './schema-name.ts';
import { type SqlConnection, sqlRunner, type SqlRunner } from './sql-runner.ts';

/** How long `migrate` waits for a lock unless it is told otherwise. */
export const DEFAULT_LOCK_TIMEOUT_MS = 5_000;

/** What `migrate` takes. Every field may be left out. */
export interface MigrateOptions {
  /** Default `holdfast`. */
  readonly schema?: string | undefined;
  /** How long to wait for a lock before giving up, so that a long query cannot queue everybody behind us. Default 5,000. */
  readonly lockTimeoutMs?: number | undefined;
  /** How long the database may take for one answer, a whole step included, before that is `DATABASE_TIMEOUT`. Default 300,000. */
  readonly answerTimeoutMs?: number | undefined;
}

const ANSWER_TIMEOUT_MS = 300_000;

/** What a migration did. */
export interface MigrateResult {
  readonly from: number;
  readonly to: number;
  /** The names of the steps that were applied, in order. */
  readonly applied: readonly string[];
}

/**
 * Brings the schema up to date: all missing steps in one transaction, or none. Two at once wait for each other and the
 * second finds nothing to do. Takes a connection of its own (a pg client, a reserved postgres.js connection, PGlite), not a
 * pool and not a transaction. Never called by the library itself.
 */
export async function migrate(connection: SqlConnection, options: MigrateOptions = {}): Promise<MigrateResult> {
  const check = new OptionCheck('migrate()');
  const { lockTimeoutMs = DEFAULT_LOCK_TIMEOUT_MS, answerTimeoutMs = ANSWER_TIMEOUT_MS } = options;
  check.known(options, ['schema', 'lockTimeoutMs', 'answerTimeoutMs']);
  check.number('answerTimeoutMs', answerTimeoutMs, ANSWER_TIMEOUT_RULE);
  check.number('lockTimeoutMs', lockTimeoutMs, { min: 1, integer: true, write: 'write whole milliseconds from 1' });
  check.done();
  const schema = quotedSchema('migrate()', options.schema);
  const sql = boundedRunner(sqlRunner(connection), answerTimeoutMs);
  if (!isConnectionOfItsOwn(sql)) {
    check.refuse(
      'connection',
      connection,
      'pass a connection of its own: a pg client, sql.reserve() or a PGlite database',
    );
    check.done();
  }
  await sql.query('begin isolation level read committed');
  try {
    await sql.query(`set local lock_timeout = ${lockTimeoutMs}`);
    const result = await applyMissing(sql, schema);
    await sql.query('commit');
    return result;
  } catch (error) {
    // One that has fallen silent would be waited for a second time. Whoever ends the connection rolls back.
    if (!isHoldfastError(error, 'DATABASE_TIMEOUT')) await sql.query('rollback').catch(() => undefined);
    throw error;
  }
}

/** Pools spread `begin` and `commit` over connections, and the caller's transaction is not ours to commit. */
function isConnectionOfItsOwn({ kind, inTransaction }: SqlRunner): boolean {
  if (kind === 'pg' || kind === 'pglite') return inTransaction !== true;
  return kind === 'postgres.js' && inTransaction === 'unknown';
}

/** The statements of all steps as one script, for people who run migrations with a tool of their own. */
export function migrationScript(options: Pick<MigrateOptions, 'schema'> = {}): string {
  const schema = quotedSchema('migrationScript()', options.schema);
  const steps = MIGRATIONS.flatMap((step) => applied(schema, step));
  return [`begin isolation level read committed`, ...prepare(schema), ...steps, 'commit']
    .map((statement) => `${statement};\n`)
    .join('');
}

async function applyMissing(sql: SqlRunner, schema: string): Promise<MigrateResult> {
  for (const statement of prepare(schema)) await sql.query(statement);
  const [row] = await sql.query(versionStatement(schema));
  const { found: from, serves } = parseVersion(row?.['version']);
  const newest = MIGRATIONS.at(-1)?.version ?? 0;
  if (serves > newest) throw new HoldfastError('SCHEMA_TOO_NEW', { found: from, known: newest });
  const missing = MIGRATIONS.filter(({ version }) => version > from);
  for (const step of missing) {
    // One statement and not ninety: a third of the time here, and more where the database is far away.
    await sql.query(`do $migration$ begin ${applied(schema, step).join(';\n')}; end $migration$`);
  }
  return { from, to: Math.max(from, newest), applied: missing.map(({ name }) => name) };
}

/** The statements of a step, and that it was applied. */
function applied(schema: string, { version, name, serves, statements }: Migration): readonly string[] {
  const done = `insert into ${schema}.migration (version, name, serves) values (${version}, '${name}', ${serves})`;
  return [...statements(schema), done];
}

/** The lock first: two that create the same schema at once fail even with `if not exists`. */
function prepare(schema: string): readonly string[] {
  return [
    `select pg_advisory_xact_lock(hashtextextended('holdfast migrate ${schema}', 0))::text`,
    `create schema if not exists ${schema}`,
    `create table if not exists ${schema}.migration (version int primary key, name text not null, serves int not null, applied_at timestamptz not null default now())`,
  ];
}
