import { randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import { describe, expect } from 'vitest';
import { factRecorder, postgresOperator } from '../../src/postgres/index.ts';
import { HISTORY_SLOTS } from '../../src/postgres/schema/messages.ts';
import { LOOK_UP_SETTINGS } from '../../src/postgres/schema/trace.ts';
import {
  commandsStatement,
  findStatement,
  messagesStatement,
  personCommandsStatement,
  personFactsStatement,
  prefixStatement,
} from '../../src/postgres/trace/statements.ts';
import { connect, freshSchema, pooled } from '../postgres/support/fresh-schema.ts';
import { join, message } from '../postgres/support/worker.ts';
import { postgres } from '../../src/postgres/index.ts';
import type { NewMessage } from '../../src/index.ts';
import { needs } from '../support/needs.ts';

const test = needs('postgres');

const ROWS = 20_000;
const DAY_MS = 86_400_000;

/** A history in which every message has a cause, a correlation and a source. */
async function fill(client: Client, schema: string, rows: number): Promise<void> {
  await client.query(`insert into ${schema}.handler (id, service, name) values (1, 'shop', 'mail')`);
  const envelope = `'order.placed', '{}', 'shop', 'shared', md5('m' || n - 1)::uuid::text`;
  await client.query(`insert into ${schema}.delivered (slot, id, handler, outcome, version, attempts, cycle, rerun, type, payload,
      source, correlation_id, causation_id)
    select n % ${HISTORY_SLOTS}, md5('m' || n)::uuid, 1, 0, 0, 1, 0, 0, ${envelope} from generate_series(1, ${rows}) n`);
  await client.query(`insert into ${schema}.trace_link (id, message)
    select i, md5('m' || n)::uuid from generate_series(1, ${rows}) n, lateral (values ('shared'), (md5('m' || n - 1)::uuid::text)) v (i)`);
  // A chain of its own: each is caused by the one before.
  await client.query(`insert into ${schema}.delivered (slot, id, handler, outcome, version, attempts, cycle, rerun, type, payload,
      source, causation_id)
    select 0, md5('c' || n)::uuid, 1, 0, 0, 1, 0, 0, 'order.placed', '{}', 'shop', md5('c' || n - 1)::uuid::text
    from generate_series(1, 30) n`);
  await client.query(`insert into ${schema}.trace_link (id, message)
    select md5('c' || n - 1)::uuid::text, md5('c' || n)::uuid from generate_series(1, 30) n`);
  await client.query(`insert into ${schema}.fact (id, at, service, kind, user_id, ids, fields)
    select md5('f' || n)::uuid, now(), 'shop', 'request', 'user', array['shared'], '{"correlationId": "shared"}'
    from generate_series(1, ${rows}) n`);
}

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Filter?: string;
  readonly Plans?: readonly PlanNode[];
}

const SMALL = new Set(['handler', 'worker', 'running']);

/** Relations that a plan reads whole, or all of whose index. The first of an index is one look into it. */
function readWhole(node: PlanNode, above?: PlanNode): string[] {
  const { 'Node Type': type, 'Relation Name': relation = '', 'Index Cond': condition, Plans: plans = [] } = node;
  const isByIndex =
    type === 'Bitmap Heap Scan' ||
    condition !== undefined ||
    (above?.['Node Type'] === 'Limit' && node.Filter === undefined);
  const isWhole = type.endsWith('Scan') && relation !== '' && !SMALL.has(relation) && !isByIndex;
  const isWholeBitmap = type === 'Bitmap Index Scan' && condition === undefined;
  return [
    ...(isWhole || isWholeBitmap ? [`${type} of ${relation}`] : []),
    ...plans.flatMap((one) => readWhole(one, node)),
  ];
}

/** What each statement reads whole. */
async function wholeReads(client: Client, schema: string): Promise<Record<string, string[]>> {
  for (const [name, value] of Object.entries(LOOK_UP_SETTINGS)) await client.query(`set ${name} = ${value}`);
  const id = randomUUID();
  const statements: Record<string, [text: string, types: string, args: string]> = {
    find: [findStatement(schema), 'text[], int, text[]', `'{shared,${id}}', 100, '{part}'`],
    commands: [commandsStatement(schema), 'text[], int, boolean, text[]', `'{shared,${id}}', 100, true, '{part}'`],
    messages: [messagesStatement(schema), 'uuid[]', `'{${id}}'`],
    prefix: [prefixStatement(schema), 'uuid, uuid, int', `'${id}', '${id}', 10`],
    'facts of a person': [personFactsStatement(schema), 'text, text', `'user', '20'`],
    'commands of a person': [personCommandsStatement(schema), 'text, text', `'user', '20'`],
  };
  const found: Record<string, string[]> = {};
  for (const [name, [text, types, args]] of Object.entries(statements)) {
    await client.query(`prepare planned (${types}) as ${text}`);
    const { rows } = await client.query(`explain (format json) execute planned (${args})`);
    await client.query('deallocate planned');
    const [plan] = rows as { 'QUERY PLAN': [{ Plan: PlanNode }] }[];
    const reads = plan === undefined ? ['nothing'] : readWhole(plan['QUERY PLAN'][0].Plan);
    if (reads.length > 0) found[name] = reads;
  }
  await client.query('reset all');
  return found;
}

describe('what a trace reads', () => {
  test('is found by indexes, in an empty database and in one with a history, and a missing one is noticed [X.7]', async ({
    postgres: server,
  }) => {
    const schema = await freshSchema(server);
    const client = await connect(server);
    expect(await wholeReads(client, schema)).toEqual({});
    await fill(client, schema, ROWS);
    expect(await wholeReads(client, schema)).toEqual({});
    const tables = [
      'delivery',
      'delivered',
      'trace_link',
      'fact',
      'command',
      'command_event',
      'inbox',
      'dedup',
      'audit',
    ];
    await client.query(`analyze ${tables.map((table) => `${schema}.${table}`).join(', ')}`);
    expect(await wholeReads(client, schema)).toEqual({});
    await client.query(`drop index ${schema}.trace_link_id; drop index ${schema}.fact_user`);
    expect(await wholeReads(client, schema)).toEqual({
      find: ['Seq Scan of trace_link'],
      'facts of a person': [expect.stringMatching(/of fact$/)],
    });
  });

  test('ends where the limit is, when thousands of messages and facts share an id [X.7]', async ({
    postgres: server,
  }) => {
    const schema = await freshSchema(server);
    const client = await connect(server);
    await fill(client, schema, 5_000);
    const operator = postgresOperator({ pool: pooled(server), schema });
    for (const [id, limit] of [
      ['shared', 50],
      ['shared', undefined],
      ['user', 50],
    ] as const) {
      const answer = await operator.trace(id, { limit });
      if (answer.kind !== 'trace') throw new Error(answer.kind);
      expect(answer.entries.length).toBe(limit ?? 500);
      expect(answer.isCut).toBe(true);
    }
    const stepsOf = async (id: string, limit?: number): Promise<number> => {
      const answer = await operator.trace(id, { limit });
      if (answer.kind !== 'trace' || !answer.isCut) throw new Error(JSON.stringify(answer));
      return answer.entries.length;
    };
    const { rows } = await client.query(`select md5('m0')::uuid::text as m, md5('c0')::uuid::text as c`);
    const { m, c } = rows[0] as Record<'m' | 'c', string>;
    expect(await stepsOf(m, 3)).toBe(3);
    // A chain of thirty causes, two entries each: followed for so many steps only.
    const steps = await stepsOf(c, 5_000);
    expect(steps).toBeGreaterThan(10);
    expect(steps).toBeLessThan(60);
  });

  test('is not what another person did under the same key [X.7] [X.17]', async ({ postgres: server }) => {
    const schema = await freshSchema(server);
    const pool = pooled(server);
    const facts = factRecorder({ service: 'shop', pool, schema });
    for (const [requestId, userId] of [
      ['req-a', 'ann'],
      ['req-b', 'bob'],
    ] as const) {
      facts.request({ operation: 'POST /pay', requestId, userId, idempotencyKey: '1' });
      facts.call({ operation: 'charge', requestId, idempotencyKey: `charge-${userId}` });
    }
    await facts.stop();
    const requests = async (id: string): Promise<unknown> => {
      const answer = await postgresOperator({ pool, schema }).trace(id);
      return answer.kind === 'trace' && answer.entries.map(({ ids }) => ids['requestId']);
    };
    expect(await requests('req-a')).toEqual(['req-a', 'req-a']);
    expect(await requests('charge-bob')).toEqual(['req-b', 'req-b']);
    // Whoever asks for the key itself gets all that goes by it.
    expect(await requests('1')).toHaveLength(4);
  });

  test('is not hidden by what only goes by a part of the id [X.7]', async ({ postgres: server }) => {
    const schema = await freshSchema(server);
    const client = await connect(server);
    // Of the run a key is about there are more facts and commands than are looked at.
    await client.query(`insert into ${schema}.fact (id, at, service, kind, ids, fields)
      select md5('f' || n)::uuid, now(), 'shop', 'request', array['shop:run-7'], '{"runId": "shop:run-7"}'::jsonb from generate_series(1, 600) n
      union all select md5('own')::uuid, now(), 'shop', 'call', array['shop:run-7:plan:v1'], '{"idempotencyKey": "shop:run-7:plan:v1"}'`);
    await client.query(`insert into ${schema}.command (id, service, name, target, module, idempotency_key, state, on_exhausted,
        request_hash, keep_ms)
      select md5('c' || n)::uuid, 'shop', 'run', 'shop:run-7', 'plan', case n when 600 then 'shop:run-7:plan:v1' else 'k' || n end, 'queued',
        'dlq', '', 1000 from generate_series(1, 600) n`);
    const answer = await postgresOperator({ pool: pooled(server), schema }).trace('shop:run-7:plan:v1');
    if (answer.kind !== 'trace') throw new Error(answer.kind);
    expect(answer.entries.map(({ step }) => step).toSorted()).toEqual(['call', 'command']);
    expect(answer.isCut).toBe(false);
  });

  test('the beginning of several ids is told as that, with what they are [X.7]', async ({ postgres: server }) => {
    const schema = await freshSchema(server);
    const client = await connect(server);
    await client.query(`insert into ${schema}.handler (id, service, name) values (1, 'shop', 'mail')`);
    const insert = `insert into ${schema}.delivered (slot, id, handler, outcome, version, attempts, cycle, rerun, type, payload, source)
      select 0, ('0190aaaa-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 1, 0, 0, 1, 0, 0, 'order.placed', '{}', 'shop'`;
    await client.query(`${insert} from generate_series(1, 2) n`);
    const operator = postgresOperator({ pool: pooled(server), schema });
    expect(await operator.trace('0190AAAA')).toMatchObject({
      kind: 'ambiguous',
      isCut: false,
      candidates: [
        { id: '0190aaaa-0000-7000-8000-000000000001', type: 'order.placed', createdAt: expect.any(Date) },
        { id: '0190aaaa-0000-7000-8000-000000000002' },
      ],
    });
    expect(await operator.trace('0190aaa')).toEqual({ kind: 'not-found' });
    const one = await operator.trace('0190aaaa-0000-7000-8000-00000000000');
    expect(one).toMatchObject({ kind: 'ambiguous' });
    await client.query(`${insert} from generate_series(3, 40) n`);
    expect(await operator.trace('0190aaaa')).toMatchObject({ kind: 'ambiguous', isCut: true });
  });
});

describe('ids that lead to messages', () => {
  test('are written for messages with ids of their own alone, however they come, and forgotten with them [X.7] [S4.1]', async ({
    postgres: server,
  }) => {
    const schema = await freshSchema(server);
    const [pool, client] = [pooled(server), await connect(server)];
    const store = postgres({ pool, schema });
    const send = async (...messages: readonly NewMessage[]): Promise<void> => {
      const tx = await pool.connect();
      await tx.query('begin');
      await store.append(tx, messages);
      await tx.query('commit');
      tx.release();
    };
    const links = async (): Promise<unknown[]> =>
      (await client.query(`select id from ${schema}.trace_link order by id`)).rows.map((row) => row['id'] as unknown);
    const [plain, keyed] = [message(), message({ idempotencyKey: 'key' })];
    await send(plain, { ...plain, id: randomUUID(), correlationId: undefined });
    await send(keyed);
    const own = randomUUID();
    await send(message({ id: own, correlationId: own }));
    expect(await links()).toEqual([]);
    const open = message({ correlationId: 'a' });
    await send(
      open,
      message({ correlationId: 'b', causationId: 'cause' }),
      message({ causationId: 'c', correlationId: 'c' }),
    );
    await send(message({ idempotencyKey: 'key 2', correlationId: 'd' }));
    await send(message({ idempotencyKey: 'key 2', correlationId: 'never' }));
    const worker = await join(store);
    const foreign = { ...message({ correlationId: 'e' }), sourceId: 'kafka:orders@0@1' };
    await worker.session.receive([foreign], DAY_MS);
    await worker.session.receive([foreign], DAY_MS);
    await worker.session.receive([{ ...message(), sourceId: 'kafka:orders@0@2' }], DAY_MS);
    expect(await links()).toEqual(['a', 'b', 'c', 'cause', 'd', 'e']);
    await client.query(`delete from ${schema}.delivery where id <> $1`, [open.id]);
    await worker.session.tidy({ historyMs: DAY_MS, maxPending: undefined });
    expect(await links()).toHaveLength(6);
    await client.query(`update ${schema}.trace_link set at = now() - interval '2 days'`);
    await worker.session.tidy({ historyMs: DAY_MS, maxPending: undefined });
    expect(await links()).toEqual(['a']);
  });

  test('facts are forgotten with the history, in steps, and the newer ones stay [X.7]', async ({
    postgres: server,
  }) => {
    const schema = await freshSchema(server);
    const client = await connect(server);
    const worker = await join(postgres({ pool: pooled(server), schema }));
    const old = (days: number): string =>
      `(lpad(to_hex((extract(epoch from now() - interval '${days} days') * 1000)::bigint), 12, '0') || substr(md5(n::text), 1, 20))::uuid`;
    const insert = (
      days: number,
      count: number,
    ): string => `insert into ${schema}.fact (id, at, service, kind, ids, fields)
      select ${old(days)}, now(), 'shop', 'note', '{}', '{}' from generate_series(1, ${count}) n`;
    await client.query(`${insert(8, 1_500)}; ${insert(6, 10)}`);
    await worker.session.tidy({ historyMs: 7 * DAY_MS, maxPending: undefined });
    const { rows } = await client.query(`select count(*)::int as n from ${schema}.fact`);
    expect(rows).toEqual([{ n: 10 }]);
  });
});
