import { Client } from 'pg';
import { onTestFinished } from 'vitest';
import { migrate } from '../../src/postgres/index.ts';
import type { SqlConnection } from '../../src/postgres/sql-runner.ts';
import type { TestServer } from './needs.ts';

/** A connection of its own to the database under test: a pg client, or PGlite. */
type Connection = SqlConnection & {
  query(text: string, params?: string[]): Promise<{ rows: Record<string, unknown>[] }>;
};

/** How a database is reached for a moment. */
type Reach = <T>(use: (connection: Connection) => Promise<T>) => Promise<T>;

interface Kept {
  readonly schema: string;
  readonly tables: readonly string[];
  /** What a migrated schema holds from the beginning, by table, as JSON. */
  readonly rows: ReadonlyMap<string, string>;
  /** Of every table, its statistics and size, its columns and checks, and of every trigger and function. */
  readonly shape: string;
}

/** Bytes: of a table or index that is slow to read when all of its rows are dead. */
const LARGE = 1_000_000;

const unused = new Map<unknown, Kept[]>();
let made = 0;

/**
 * A migrated schema for one test, as good as new. It goes back after the test: emptied, and used again by the next test of the file,
 * for making and dropping one takes a third of a second, most of a small test. One whose tables, checks, triggers or functions a
 * test has changed, that has statistics or is large, or that somebody still holds locks on, is dropped.
 */
export async function freshSchema(server: TestServer): Promise<string> {
  return borrow(server.url + server.namespace, `${server.namespace}_`, async (use) => {
    const client = new Client({ connectionString: server.url });
    await client.connect();
    try {
      return await use(client);
    } finally {
      await client.end();
    }
  });
}

/** The same in a PGlite, which has one connection. */
export async function freshSchemaOn(db: Connection): Promise<string> {
  return borrow(db, 'test_', (use) => use(db));
}

async function borrow(owner: unknown, prefix: string, reach: Reach): Promise<string> {
  const free = unused.get(owner) ?? [];
  unused.set(owner, free);
  const kept = free.pop() ?? (await reach((connection) => make(connection, `${prefix}${(made += 1)}`)));
  // Registered before the test's own connections, so that it runs after they have ended: an open transaction would hold it up.
  onTestFinished(() => reach(async (connection) => void ((await empty(connection, kept)) && free.push(kept))));
  return kept.schema;
}

async function make(connection: Connection, schema: string): Promise<Kept> {
  await migrate(connection, { schema });
  const tables = await tablesOf(connection, schema);
  const all = tables.map(
    (table) => `select '${table}' as name, json_agg(t)::text as rows from "${schema}"."${table}" t`,
  );
  const { rows } = await connection.query(`select * from (${all.join(' union all ')}) r where rows is not null`);
  const seeds = new Map(rows.map(({ name, rows: json }) => [String(name), String(json)]));
  return { schema, tables, rows: seeds, shape: await shapeOf(connection, schema) };
}

/** False when it could not be made as it was, and is gone. */
async function empty(connection: Connection, { schema, tables, rows, shape }: Kept): Promise<boolean> {
  const isAsItWas = async (): Promise<boolean> => {
    await connection.query(`set lock_timeout = '2s'`);
    const added = (await tablesOf(connection, schema)).filter((table) => !tables.includes(table));
    for (const table of added) await connection.query(`drop table "${schema}"."${table}" cascade`);
    if ((await shapeOf(connection, schema)) !== shape) return false;
    await connection.query(emptying(schema, tables));
    for (const [table, json] of rows) {
      const row = `null::"${schema}"."${table}"`;
      await connection.query(
        `insert into "${schema}"."${table}" overriding system value select * from json_populate_recordset(${row}, $1::text::json)`,
        [json],
      );
    }
    return true;
  };
  if (await isAsItWas().catch(() => false)) return true;
  await connection.query(`drop schema if exists "${schema}" cascade`);
  return false;
}

/** No trigger and no foreign key is asked, and every sequence begins anew. */
function emptying(schema: string, tables: readonly string[]): string {
  const deletes = tables.map((table) => `delete from "${schema}"."${table}";`).join(' ');
  return `do $$ begin
    set local session_replication_role = replica;
    ${deletes}
    perform setval(c.oid, s.seqstart, false) from pg_class c join pg_sequence s on s.seqrelid = c.oid
      where c.relnamespace = '"${schema}"'::regnamespace;
  end $$`;
}

async function tablesOf(connection: Connection, schema: string): Promise<readonly string[]> {
  const { rows } = await connection.query(
    `select relname::text as name from pg_class where relnamespace = '"${schema}"'::regnamespace and relkind = 'r' order by 1`,
  );
  return rows.map(({ name }) => String(name));
}

async function shapeOf(connection: Connection, schema: string): Promise<string> {
  const space = `'"${schema}"'::regnamespace`;
  const { rows } = await connection.query(`select md5(string_agg(part, E'\\n' order by part)) as shape from (
    select concat_ws(' ', c.relname, c.relkind, c.reloptions, c.relpersistence, c.reltuples, pg_relation_size(c.oid) > ${LARGE}, a.attname, a.atttypid, a.attnotnull, a.attidentity,
      pg_get_expr(d.adbin, d.adrelid)) as part
    from pg_class c left join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
      left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where c.relnamespace = ${space}
    union all select pg_get_constraintdef(oid) from pg_constraint where connamespace = ${space}
    union all select concat_ws(' ', tgname, tgrelid, tgenabled, tgfoid) from pg_trigger t join pg_class c on c.oid = tgrelid
      where c.relnamespace = ${space}
    union all select concat_ws(' ', proname, prosrc, proconfig, proacl) from pg_proc where pronamespace = ${space}
    union all select concat_ws(' ', n.nspacl, c.relname, c.relacl, c.relrowsecurity) from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.oid = ${space}) s`);
  return String(rows[0]?.['shape']);
}
