import { OptionCheck } from '../../kernel/check-options.ts';
import type { SqlPool } from '../../postgres/driver/find-driver.ts';
import { migrate } from '../../postgres/migrate.ts';
import { type SqlConnection, sqlRunner } from '../../postgres/sql-runner.ts';
import { newId } from '../../system/new-id.ts';

/** A schema of Holdfast for one test. Hand `schema` to `postgres({ pool, schema })`, and the whole to the assertions. */
export interface FreshSchema<Pool> extends AsyncDisposable {
  readonly pool: Pool;
  readonly schema: string;
  /**
   * Lets so many milliseconds pass for everything in the schema: scheduled messages and retries become due, keys expire. Every time
   * in it is set back, and nothing waits. Workers that run keep their leases.
   */
  advance(ms: number): Promise<void>;
  /** Drops it with all that is in it. May be called twice. Stop what runs there before. */
  drop(): Promise<void>;
}

/** What `freshSchema` takes. Every field may be left out. */
export interface FreshSchemaOptions {
  /** What its name begins with. Default `test`. */
  readonly prefix?: string | undefined;
}

/** A client that has connections to give, or is one. */
interface Lender {
  connect?(): Promise<SqlConnection & { release(): void }>;
  reserve?(): Promise<SqlConnection & { release(): void }>;
}

/**
 * Makes and migrates a schema of its own, so that tests share a server and nothing else. Takes a pg `Pool`, the `sql` of postgres.js or
 * a PGlite database; with `await using` it is dropped at the end of the block.
 */
export async function freshSchema<Pool extends SqlPool & SqlConnection>(
  pool: Pool,
  options: FreshSchemaOptions = {},
): Promise<FreshSchema<Pool>> {
  const check = new OptionCheck('freshSchema()');
  const { prefix = 'test' } = options;
  check.known(options, ['prefix']);
  if (typeof prefix !== 'string' || !/^[a-z_][a-z0-9_]{0,39}$/.test(prefix))
    check.refuseName('prefix', prefix, 'write lower-case letters, digits and _, at most 40');
  check.done();
  const schema = `${prefix}_${newId().replaceAll('-', '').slice(-16)}`;
  await onOwnConnection(pool, (connection) => migrate(connection, { schema }));
  const run = async (statement: string): Promise<void> => void (await sqlRunner(pool).query(statement));
  const drop = (): Promise<void> => run(`drop schema if exists "${schema}" cascade`);
  return {
    pool,
    schema,
    advance: async (ms) => {
      check.number('ms', ms, { min: 0, write: 'write milliseconds from 0' });
      check.done();
      await run(advanceStatement(schema, ms));
    },
    drop,
    [Symbol.asyncDispose]: drop,
  };
}

/** A pool would spread the steps of a migration over its connections. */
async function onOwnConnection<T>(pool: SqlConnection, work: (own: SqlConnection) => Promise<T>): Promise<T> {
  const lender = pool as unknown as Lender;
  const own = await (lender.reserve?.() ?? lender.connect?.());
  if (own === undefined) return work(pool);
  try {
    return await work(own);
  } finally {
    await own.release();
  }
}

// Who lives is told by the clock of the server, and the name of a step by nobody.
const NOT_MOVED = `'worker', 'running', 'migration'`;

/** Sets every time of every table back, in one transaction. Partitions move with their table. */
function advanceStatement(schema: string, ms: number): string {
  return `do $advance$ declare moved record; begin
    for moved in select c.relname as name, string_agg(format('%1$I = %1$I - %2$L::interval', a.attname, '${ms} milliseconds'), ', ') as sets
      from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      where c.relnamespace = '"${schema}"'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
        and a.atttypid = 'timestamptz'::regtype and c.relname not in (${NOT_MOVED}) group by c.relname
    loop execute format('update %I.%I set %s', '${schema}', moved.name, moved.sets); end loop;
  end $advance$`;
}
