import type { Client } from 'pg';
import { expect } from 'vitest';
import type { Link } from '../../src/postgres/driver/driver.ts';
import { readActs, readStatement } from '../../src/postgres/relay/read.ts';
import { settleActs } from '../../src/postgres/relay/settle.ts';
import { encodeParam } from '../../src/postgres/sql-runner.ts';
import type { ReadRequest, RelaySession, Settlement, Snapshot } from '../../src/relay/relay-store.ts';
import { needs } from '../support/needs.ts';
import { connect, freshSchema } from './support/fresh-schema.ts';

const test = needs('postgres');

const WORKER = '00000000-0000-0000-0000-000000000001';
const ROWS = 20_000;
/** How many rows of the table one act may look at: those it asks for, and what it needs to find them. */
const MOST_TOUCHED = 8_000;
const UNITS = Array.from({ length: 32 }, (_, bucket) => 32 + bucket);
const FILLING = { timeout: 300_000 };

type Acts = Pick<RelaySession<never>, 'load' | 'read' | 'fetch' | 'settle' | 'mark'>;

/** All on one connection, so that what it touched can be asked. */
function actsOn(client: Client, schema: string): Acts {
  const query: Link['query'] = async (text, params = []) => {
    const types = { getTypeParser: () => (value: string) => value };
    return (await client.query({ text, values: params.map(encodeParam), rowMode: 'array', types })).rows as unknown[][];
  };
  const link: Link = { query, transaction: (work) => work(query), close: () => Promise.resolve() };
  return { ...readActs(link, schema), ...settleActs([link], schema) };
}

async function prepare(client: Client, schema: string): Promise<void> {
  await client.query(`alter table ${schema}.delivery set (autovacuum_enabled = false)`);
  await client.query(`insert into ${schema}.handler (id, service, name) values (1, 'test', 'first')`);
  await client.query(`insert into ${schema}.lane (id, handler) values (1, 1)`);
  await client.query(`insert into ${schema}.worker (id, name, service, lanes, expires_at)
    values ('${WORKER}', 'test', 'test', '{1}', 'infinity')`);
  await client.query(`insert into ${schema}.lease select unit, '${WORKER}', 1 from unnest($1::int[]) unit`, [UNITS]);
}

/** Messages of transactions of a thousand each. `state` is of a number `n`. */
async function fill(client: Client, schema: string, count: number, state = '0'): Promise<void> {
  await client.query(`insert into ${schema}.delivery
      (id, handler, unit, state, due_at, failed_at, holds, tx, type, key, payload, idempotency_key, source, correlation_id)
    select id, 1, 32 + n % 32, state, case when state = 1 then now() + interval '1 hour' end,
      case when state = 2 then now() end, state > 0, (10 + n / 1000)::text::xid8, 'thing.done', 'key ' || n, '{"n": 1}', id, 'test', id
    from (select gen_random_uuid() as id, n, ${state} as state from generate_series(1, ${count}) n) g`);
}

/** What the planner was told last, and what is there now. */
const STALE: Record<string, (client: Client, schema: string) => Promise<void>> = {
  'vacuumed at a moment when it was empty': async (client, schema) => {
    await fill(client, schema, ROWS);
    await client.query(`delete from ${schema}.delivery`);
    await client.query(`vacuum (analyze, truncate off) ${schema}.delivery`);
    await fill(client, schema, ROWS);
  },
  'analysed when everything waited for a retry': async (client, schema) => {
    await fill(client, schema, 1_000, '1');
    await client.query(`vacuum (analyze) ${schema}.delivery`);
    await client.query(`delete from ${schema}.delivery`);
    await fill(client, schema, ROWS);
  },
  'analysed when all had failed': async (client, schema) => {
    await fill(client, schema, 1_000, '2');
    await client.query(`vacuum (analyze) ${schema}.delivery`);
    await client.query(`delete from ${schema}.delivery where unit <> 33`);
    await fill(client, schema, ROWS);
  },
  'analysed with five rows in it': async (client, schema) => {
    await fill(client, schema, 5);
    await client.query(`vacuum (analyze) ${schema}.delivery`);
    await fill(client, schema, ROWS);
  },
  'analysed before half of it waited': async (client, schema) => {
    await fill(client, schema, ROWS);
    await client.query(`vacuum (analyze) ${schema}.delivery`);
    await fill(client, schema, ROWS, 'n % 2');
  },
  'never analysed': (client, schema) => fill(client, schema, ROWS),
};

interface Found {
  readonly first: readonly { readonly unit: number; readonly seq: number }[];
  readonly last: number;
}

async function look(client: Client, schema: string): Promise<Found> {
  const { rows } = await client.query<{ unit: number; seq: string }>(
    `select unit, seq from ${schema}.delivery where state = 0 order by seq limit 500`,
  );
  const { rows: most } = await client.query<{ seq: string }>(`select max(seq) as seq from ${schema}.delivery`);
  return { first: rows.map(({ unit, seq }) => ({ unit, seq: Number(seq) })), last: Number(most[0]?.seq) };
}

function requestOf(after: number, since: Snapshot | undefined, skipsBlocked = false): ReadRequest {
  return { units: UNITS.map((unit) => ({ unit, after, limit: 64, skipsBlocked })), since, dueLimit: 256 };
}

function hotActs({ first, last }: Found): Record<string, (acts: Acts) => Promise<unknown>> {
  const snapshot = { server: '', xmin: '20', xmax: '900000000', xip: ['12', '13'] };
  const targets = first.map(({ unit, seq }) => {
    return { token: { unit, epoch: 1 }, seq, state: 'ready', version: 0, cycle: 0 } as const;
  });
  const done = targets.map((target): Settlement => ({ ...target, kind: 'done', attempts: 1, durationMs: 1 }));
  const error = { name: 'Error', message: 'none', kind: 'unknown' };
  const dead = targets.map((target): Settlement => ({ ...target, kind: 'dead', attempts: 1, error, holds: true }));
  const oneUnit = targets.filter(({ token }) => token.unit === 33);
  return {
    'the first read': (acts) => acts.read(requestOf(0, undefined)),
    'the first read past dead letters': (acts) => acts.read(requestOf(0, undefined, true)),
    'a read with nothing new': (acts) => acts.read(requestOf(last, { ...snapshot, xip: [] })),
    'a read past dead letters with nothing new': (acts) => acts.read(requestOf(last, { ...snapshot, xip: [] }, true)),
    'a read of two thousand late rows': (acts) => acts.read(requestOf(last, snapshot)),
    fetch: (acts) => acts.fetch(oneUnit, 33),
    'settling what is done': (acts) => acts.settle(WORKER, done),
    'settling what has failed': (acts) => acts.settle(WORKER, dead),
    marking: (acts) =>
      acts.mark(
        WORKER,
        targets.slice(0, 16).map((target) => Object.assign(target, { starts: 1 })),
      ),
  };
}

/** How many rows of the table this connection has looked at and not reported yet. */
async function touchedYet(client: Client, schema: string): Promise<number> {
  const { rows } = await client.query<{ touched: string }>(
    `select seq_tup_read + coalesce(idx_tup_fetch, 0) as touched from pg_stat_xact_user_tables
    where relid = '${schema}.delivery'::regclass`,
  );
  return Number(rows[0]?.touched);
}

/** Acts that looked at too many rows, with how many. Each is done seven times: from the sixth on a function keeps its plan. */
async function greedyActs(client: Client, schema: string): Promise<Record<string, number>> {
  const acts = actsOn(client, schema);
  const greedy: Record<string, number> = {};
  for (const [act, work] of Object.entries(hotActs(await look(client, schema)))) {
    for (let time = 0; time < 7; time++) {
      const touched = await touchedBy(client, schema, () => work(acts));
      if (touched > MOST_TOUCHED) greedy[act] = touched;
    }
  }
  return greedy;
}

/** How many rows of the table were looked at meanwhile; nothing of it is kept. */
async function touchedBy(client: Client, schema: string, work: () => Promise<unknown>): Promise<number> {
  await client.query('begin');
  const before = await touchedYet(client, schema);
  await work();
  const after = await touchedYet(client, schema);
  await client.query('rollback');
  return after - before;
}

test.for(Object.keys(STALE))(
  'no hot statement looks at the whole table, whatever the planner thinks of it: %s [S4.1]',
  FILLING,
  async (name, { postgres: server }) => {
    const schema = await freshSchema(server);
    const client = await connect(server);
    await prepare(client, schema);
    await STALE[name]?.(client, schema);
    expect(await greedyActs(client, schema)).toEqual({});
    // The check itself: a statement that does look at all of it is seen.
    const all = () => client.query(`select count(payload) from ${schema}.delivery`);
    expect(await touchedBy(client, schema, all)).toBeGreaterThan(MOST_TOUCHED);
  },
);

test(
  'plans that were kept since the table was empty do not look at the whole of it when it has grown [S4.1]',
  FILLING,
  async ({ postgres: server }) => {
    const schema = await freshSchema(server);
    const client = await connect(server);
    await prepare(client, schema);
    await fill(client, schema, 10);
    await greedyActs(client, schema);
    await fill(client, schema, ROWS);
    expect(await greedyActs(client, schema)).toEqual({});
  },
);

test(
  'loading a unit looks at what holds its keys and at nothing else, whatever the planner thinks [S4.1]',
  FILLING,
  async ({ postgres: server }) => {
    const schema = await freshSchema(server);
    const client = await connect(server);
    const acts = actsOn(client, schema);
    await prepare(client, schema);
    await fill(client, schema, ROWS);
    await client.query(`vacuum (analyze) ${schema}.delivery`);
    await client.query(`delete from ${schema}.delivery`);
    await fill(client, schema, ROWS, '1');
    const touched = await touchedBy(client, schema, () => acts.load([33, 34]));
    expect(touched).toBeLessThanOrEqual((ROWS / 32) * 2);
  },
);

test(
  'a read past dead letters does not walk over what was finished before, while an open transaction keeps it [S4.1]',
  FILLING,
  async ({ postgres: server }) => {
    const schema = await freshSchema(server);
    const client = await connect(server);
    const holder = await connect(server);
    await prepare(client, schema);
    await holder.query('begin isolation level repeatable read');
    await holder.query('select 1');
    await fill(client, schema, ROWS);
    const { last } = await look(client, schema);
    await client.query(`delete from ${schema}.delivery`);
    const each = (value: unknown): string => `{${UNITS.map(() => value).join(',')}}`;
    const params = [`{${UNITS.join(',')}}`, each(last), each(64), '{}', '900000000', each(256), each(true)];
    await client.query(`prepare reading as ${readStatement(schema)}`);
    const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
      `explain (analyze, buffers, format json) execute reading (${params.map((one) => client.escapeLiteral(one)).join(',')})`,
    );
    expect(rows[0]?.['QUERY PLAN'][0].Plan['Shared Hit Blocks']).toBeLessThan(MOST_TOUCHED);
  },
);
