import type { Client } from 'pg';
import { expect } from 'vitest';
import { adoptStatements } from '../../src/postgres/relay/adopt.ts';
import { finishStatement } from '../../src/postgres/relay/finish.ts';
import { leaseStatements } from '../../src/postgres/relay/lease.ts';
import { loadStatement, readStatement, readStatements } from '../../src/postgres/relay/read.ts';
import { settleStatements } from '../../src/postgres/relay/settle.ts';
import { KEPT_PLAN_SETTINGS } from '../../src/postgres/schema/functions.ts';
import { needs } from '../support/needs.ts';
import { connect, freshSchema } from './support/fresh-schema.ts';

const test = needs('postgres');

const ROWS = 500_000;
/** Filling the table takes most of a minute on a busy machine. */
const FILLING = { timeout: 300_000 };
const WORKER = '00000000-0000-0000-0000-000000000001';
/** Above this estimate PostgreSQL compiles a statement, which takes longer than the statement. */
const JIT_ABOVE_COST = 100_000;

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Total Cost': number;
  readonly Plans?: readonly PlanNode[];
}

/** One handler with a large backlog of many transactions, a tenth of it waiting for a retry. */
async function fill(client: Client, schema: string): Promise<void> {
  await client.query(`insert into ${schema}.handler (id, service, name) values (1, 'test', 'first')`);
  await client.query(`insert into ${schema}.lane (id, handler) values (1, 1)`);
  await client.query(`insert into ${schema}.subscription values ('thing.done', 1, false)`);
  await client.query(`insert into ${schema}.worker (id, name, service, lanes, expires_at)
    values ('${WORKER}', 'test', 'test', '{1}', 'infinity')`);
  await client.query(`insert into ${schema}.lease select 32 + n, '${WORKER}', 1 from generate_series(0, 31) n`);
  await client.query(`insert into ${schema}.delivery
      (id, handler, unit, state, due_at, holds, tx, type, key, payload, idempotency_key, source, correlation_id)
    select id, 1, 32 + n % 32, state, case when state = 1 then now() + n * interval '1 second' end, state = 1,
      (1000 + n / 100)::text::xid8, 'thing.done', 'key ' || n % 5000, '{"n": 1}', id, 'test', id
    from (select gen_random_uuid() as id, n, case when n % 10 = 0 then 1 else 0 end as state from generate_series(1, ${ROWS}) n) g`);
  await client.query(`analyze ${schema}.delivery`);
}

async function planOf(client: Client, statement: string, params: readonly string[]): Promise<PlanNode> {
  await client.query(`prepare planned as ${statement}`);
  const given = params.map((param) => client.escapeLiteral(param)).join(', ');
  const call = params.length === 0 ? '' : ` (${given})`;
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
    `explain (format json) execute planned${call}`,
  );
  await client.query('deallocate planned');
  const plan = rows[0]?.['QUERY PLAN'][0].Plan;
  if (!plan) throw new Error('there is no plan');
  return plan;
}

/** What a hot statement may not do to the table: read all of it, or sort what no limit bounds. */
function faultsOf(plan: PlanNode, mayBeCompiled = true): string[] {
  const faults: string[] = [];
  const visit = (node: PlanNode, isSorted: boolean): void => {
    const type = node['Node Type'];
    const isTable = node['Relation Name'] === 'delivery' && type !== 'ModifyTable';
    if (isTable && type === 'Seq Scan') faults.push('reads the whole table');
    if (isTable && isSorted) faults.push('sorts the table');
    const isSort = type === 'Sort' || type === 'Incremental Sort';
    for (const child of node.Plans ?? []) visit(child, isSort || (isSorted && type !== 'Limit'));
  };
  visit(plan, false);
  if (mayBeCompiled && plan['Total Cost'] > JIT_ABOVE_COST) faults.push(`is compiled (cost ${plan['Total Cost']})`);
  return faults;
}

const units = `{${Array.from({ length: 32 }, (_, n) => 32 + n).join(',')}}`;
const times = (count: number, value: number): string => `{${Array.from({ length: count }, () => value).join(',')}}`;

type Planned = Record<string, [statement: string, params: readonly string[]]>;

const target = { unit: 33, epoch: 1, seq: 1, state: 0, version: 0 };

/** What is planned anew with each call. */
function hotStatements(schema: string): Planned {
  const settle = settleStatements(schema);
  const failed = JSON.stringify(
    Array.from({ length: 100 }, (_, n) => ({ ...target, seq: n, kind: 'retry', error: {} })),
  );
  return {
    fetch: [readStatements(schema).fetch, ['33', JSON.stringify([target])]],
    fail: [settle.fail, [WORKER, units, failed]],
    bury: [settle.bury, [WORKER, units, failed]],
    mark: [settle.mark, [WORKER, units, JSON.stringify([target])]],
    survey: [leaseStatements(schema, 'select 1').survey, [WORKER]],
    'the search for messages without a handler': [adoptStatements(schema).spread, ['1000']],
  };
}

/** The bodies of the functions, whose plans are kept. */
function keptStatements(schema: string): Planned {
  const seqs = `{${Array.from({ length: 1_000 }, (_, n) => n).join(',')}}`;
  const ones = times(1_000, 1);
  const zeros = times(1_000, 0);
  return {
    load: [loadStatement(schema), [units]],
    read: [
      readStatement(schema),
      [units, times(32, 1_000), times(32, 64), '{2000,3000,4000}', '5900', '256', times(32, 1)],
    ],
    finish: [finishStatement(schema), [WORKER, units, times(1_000, 33), ones, seqs, zeros, zeros, ones, ones]],
  };
}

async function faultsOfKept(client: Client, schema: string): Promise<Record<string, string[]>> {
  for (const [name, value] of Object.entries(KEPT_PLAN_SETTINGS)) await client.query(`set ${name} = ${value}`);
  const faults: Record<string, string[]> = {};
  for (const [name, [statement, params]] of Object.entries(keptStatements(schema))) {
    const found = faultsOf(await planOf(client, statement, params), false);
    if (found.length > 0) faults[name] = found;
  }
  await client.query('reset all');
  return faults;
}

test(
  'the hot statements use their indexes on a table of 500,000 rows, with custom and generic plans [S4.1]',
  FILLING,
  async ({ postgres: server }) => {
    const schema = await freshSchema(server);
    const client = await connect(server);
    await fill(client, schema);
    const faults: Record<string, string[]> = {};
    for (const mode of ['force_custom_plan', 'force_generic_plan']) {
      await client.query(`set plan_cache_mode = ${mode}`);
      for (const [name, [statement, params]] of Object.entries(hotStatements(schema))) {
        const found = faultsOf(await planOf(client, statement, params));
        if (found.length > 0) faults[`${name}, ${mode}`] = found;
      }
    }
    expect(faults).toEqual({});
    expect(await faultsOfKept(client, schema)).toEqual({});
    // The check itself: without an index to follow, it is seen.
    await client.query(`drop index ${schema}.delivery_late`);
    expect(await faultsOfKept(client, schema)).toEqual({ read: ['sorts the table', 'sorts the table'] });
  },
);

test('a plan that was made while the table was empty serves a million rows [S4.1]', async ({ postgres: server }) => {
  const schema = await freshSchema(server);
  expect(await faultsOfKept(await connect(server), schema)).toEqual({});
});
