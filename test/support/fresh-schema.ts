import { Client } from 'pg';
import { onTestFinished } from 'vitest';
import { migrate } from '../../src/postgres/index.ts';
import type { SqlConnection } from '../../src/postgres/sql-runner.ts';
import type { TestServer } from './needs.ts';

/** A connection of its own to the database under test: a pg client, or PGlite. */
type Connection = SqlConnection & {
  query(text: string, params?: string[]): Promise<{ rows: Record<string, unknown>[] }>;
};

interface Kept {
  readonly schema: string;
  readonly tables: readonly string[];
  /** Where each of its sequences begins. */
  readonly sequences: ReadonlyMap<string, string>;
  /** What a migrated schema holds from the beginning, by table, as JSON. */
  readonly rows: ReadonlyMap<string, string>;
  /** Of every table, its statistics and size, its columns and checks, and of every trigger and function. */
  readonly shape: string;
}

/** Bytes: of a table or index that is slow to read when all of its rows are dead. */
const LARGE = 1_000_000;

const unused = new Map<unknown, Kept[]>();
const reached = new Map<string, Promise<Client>>();
const turns = new Map<unknown, Promise<unknown>>();
let made = 0;

/**
 * A migrated schema for one test, as good as new. It goes back after the test: emptied, and used again by the next test of this worker,
 * for making and dropping one takes a third of a second, most of a small test. One whose tables, checks, triggers or functions a
 * test has changed, that has statistics or is large, or that somebody still holds locks on, is dropped.
 */
export async function freshSchema(server: TestServer): Promise<string> {
  const place = new URL(server.url);
  // The same for all files: what one has given back the next can have.
  place.search = '';
  return borrow(place.href, `${server.namespace}_`, () => reach(place.href));
}

/** The same in a PGlite, which has one connection. */
export async function freshSchemaOn(db: Connection): Promise<string> {
  return borrow(db, 'test_', async () => db);
}

/** One connection for all tests of a worker: a new one would have to read the whole catalogue first, each time. */
async function reach(url: string): Promise<Connection> {
  const known = reached.get(url) ?? connect(url);
  reached.set(url, known);
  return known;
}

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  // A test may have the server end all connections: the next one is given another.
  const forget = (): void => void reached.delete(url);
  client.on('error', forget).on('end', forget);
  await client.connect();
  await client.query(`set lock_timeout = '2s'`);
  return client;
}

async function borrow(owner: unknown, prefix: string, reachOwner: () => Promise<Connection>): Promise<string> {
  const free = unused.get(owner) ?? [];
  unused.set(owner, free);
  const name = (): string => `${prefix}${(made += 1)}`;
  const kept = free.pop() ?? (await inTurn(owner, async () => make(await reachOwner(), name())));
  // Registered before the test's own connections, so that it runs after they have ended: an open transaction would hold it up.
  onTestFinished(() =>
    inTurn(owner, async () => {
      const connection = await reachOwner();
      if (await empty(connection, kept)) free.push(kept);
      // Whoever looks at what sessions do finds the name of no schema in this one.
      await connection.query('select 1');
    }),
  );
  return kept.schema;
}

/** One after the other: a test may ask for several at once, and there is one connection. */
function inTurn<T>(owner: unknown, work: () => Promise<T>): Promise<T> {
  const before = turns.get(owner) ?? Promise.resolve();
  const turn = before.then(work, work);
  turns.set(owner, turn);
  return turn;
}

async function make(connection: Connection, schema: string): Promise<Kept> {
  await migrate(connection, { schema });
  const tables = await tablesOf(connection, schema);
  const all = tables.map(
    (table) => `select '${table}' as name, json_agg(t)::text as rows from "${schema}"."${table}" t`,
  );
  const { rows } = await connection.query(`select * from (${all.join(' union all ')}) r where rows is not null`);
  const seeds = new Map(rows.map(({ name, rows: json }) => [String(name), String(json)]));
  const found = await connection.query(
    `${membersOf(schema)} select s.seqrelid::regclass::text as name, s.seqstart::text as start
      from member join pg_sequence s on s.seqrelid = member.id`,
  );
  const sequences = new Map(found.rows.map(({ name, start }) => [String(name), String(start)]));
  return { schema, tables, sequences, rows: seeds, shape: await shapeOf(connection, schema) };
}

/** False when it could not be made as it was, and is gone. */
async function empty(connection: Connection, kept: Kept): Promise<boolean> {
  const { schema, tables, rows, shape } = kept;
  const isAsItWas = async (): Promise<boolean> => {
    const added = (await tablesOf(connection, schema)).filter((table) => !tables.includes(table));
    for (const table of added) await connection.query(`drop table "${schema}"."${table}" cascade`);
    if ((await shapeOf(connection, schema)) !== shape) return false;
    await connection.query(emptying(kept));
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
function emptying({ schema, tables, sequences }: Kept): string {
  const deletes = tables.map((table) => `delete from "${schema}"."${table}";`);
  const starts = [...sequences].map(([name, start]) => `perform setval('${name}', ${start}, false);`);
  return `do $$ begin
    set local session_replication_role = replica;
    ${[...deletes, ...starts].join(' ')}
  end $$`;
}

/**
 * The tables, sequences, views and functions of a schema, found by an index. To look through the whole catalogue for them takes a tenth
 * of a second where there are many schemas.
 */
function membersOf(schema: string): string {
  return `with member as (select classid as class, objid as id from pg_depend
    where refclassid = 'pg_namespace'::regclass and refobjid = '"${schema}"'::regnamespace)`;
}

async function tablesOf(connection: Connection, schema: string): Promise<readonly string[]> {
  const { rows } = await connection.query(`${membersOf(schema)} select relname::text as name
    from pg_class where oid = any(array(select id from member where class = 'pg_class'::regclass)) and relkind = 'r' order by 1`);
  return rows.map(({ name }) => String(name));
}

async function shapeOf(connection: Connection, schema: string): Promise<string> {
  const own = 'any(array(select id from relation))';
  const { rows } = await connection.query(`${membersOf(schema)},
    relation as materialized (select id from member where class = 'pg_class'::regclass union all
      select indexrelid from pg_index where indrelid = any(array(select id from member where class = 'pg_class'::regclass)))
    select md5(string_agg(part, E'\\n' order by part)) as shape from (
    select concat_ws(' ', relname, relkind, reloptions, relpersistence, reltuples, pg_relation_size(oid) > ${LARGE}, relacl, relrowsecurity) as part
      from pg_class where oid = ${own}
    union all select concat_ws(' ', attrelid, attname, atttypid, attnotnull, attidentity, pg_get_expr(d.adbin, d.adrelid))
      from pg_attribute a left join pg_attrdef d on d.adrelid = attrelid and d.adnum = attnum where attnum > 0 and attrelid = ${own}
    union all select pg_get_constraintdef(oid) from pg_constraint where conrelid = ${own}
    union all select concat_ws(' ', tgname, tgrelid, tgenabled, tgfoid) from pg_trigger where tgrelid = ${own}
    union all select concat_ws(' ', proname, prosrc, proconfig, proacl)
      from pg_proc where oid = any(array(select id from member where class = 'pg_proc'::regclass))
    union all select nspacl::text from pg_namespace where oid = '"${schema}"'::regnamespace) s`);
  return String(rows[0]?.['shape']);
}
