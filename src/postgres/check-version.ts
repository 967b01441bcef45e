import { HoldfastError } from '../kernel/error.ts';
import { sqlStateOf } from './driver/database-error.ts';
import { MIGRATIONS } from './migrations.ts';

// No such schema, table or function.
const NOT_MIGRATED: readonly (string | undefined)[] = ['3F000', '42P01', '42883'];

/** The error as `SCHEMA_TOO_OLD` when it says that our tables or functions are not in the schema; else as it is. */
export function named(error: unknown, schema: string): unknown {
  if (!NOT_MIGRATED.includes(sqlStateOf(error))) return error;
  return new HoldfastError('SCHEMA_TOO_OLD', { schema, found: 0, needed: neededVersion() }, { cause: error });
}

function neededVersion(): number {
  return MIGRATIONS.at(-1)?.version ?? 0;
}

/** At which version a schema is, and the oldest release that works there: the version that one was made for. */
export interface SchemaVersion {
  readonly found: number;
  readonly serves: number;
}

/** Reads it as one text, the column `version`, for `parseVersion`. */
export function versionStatement(schema: string): string {
  return `select concat(coalesce(max(version), 0), ' ', coalesce(max(serves), 0)) as version from ${schema}.migration`;
}

export function parseVersion(text: unknown): SchemaVersion {
  const [found = 0, serves = 0] = String(text).split(' ').map(Number);
  return { found, serves };
}

/**
 * Throws `SCHEMA_TOO_OLD`, also where there is no schema, or `SCHEMA_TOO_NEW` unless this release works on the quoted schema: that is at
 * its version, or at a later one that serves it too. `read` runs the statement and answers the first column, `version`, of its one row.
 */
export async function checkVersion(schema: string, read: (statement: string) => Promise<unknown>): Promise<void> {
  const needed = neededVersion();
  const text = await read(versionStatement(schema)).catch((error: unknown) => {
    if (NOT_MIGRATED.includes(sqlStateOf(error))) return '0 0';
    throw error;
  });
  const { found, serves } = parseVersion(text);
  if (found < needed) throw new HoldfastError('SCHEMA_TOO_OLD', { schema, found, needed });
  if (serves > needed) throw new HoldfastError('SCHEMA_TOO_NEW', { found, known: needed });
}
