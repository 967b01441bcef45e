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

/**
 * Throws `SCHEMA_TOO_OLD`, also where there is no schema, or `SCHEMA_TOO_NEW` unless the quoted schema is at the version of
 * this release. `read` runs the statement and answers the first column, `version`, of its one row.
 */
export async function checkVersion(schema: string, read: (statement: string) => Promise<unknown>): Promise<void> {
  const needed = neededVersion();
  const found = await read(`select coalesce(max(version), 0)::text as version from ${schema}.migration`).then(
    Number,
    (error: unknown) => {
      if (NOT_MIGRATED.includes(sqlStateOf(error))) return 0;
      throw error;
    },
  );
  if (found < needed) throw new HoldfastError('SCHEMA_TOO_OLD', { schema, found, needed });
  if (found > needed) throw new HoldfastError('SCHEMA_TOO_NEW', { found, known: needed });
}
