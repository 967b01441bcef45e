import { randomUUID } from 'node:crypto';
import { describe, expect, onTestFinished } from 'vitest';
import { event, type Holdfast, holdfast, TerminalHandlerError } from '../../src/index.ts';
import type { ErrorGroup } from '../../src/operator/error-group.ts';
import { deadLetterCondition } from '../../src/postgres/operator/dead-letter-filter.ts';
import { listStatement } from '../../src/postgres/operator/dead-letter-list.ts';
import { postgres } from '../../src/postgres/index.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { ANN, OperatorDatabase } from './operator-database.ts';

const test = needs('postgres');
/** Those with a number below 0 have one key; each other has one of its own. */
const orderPlaced = event<{ n: number }>('order.placed', { key: ({ n }) => (n < 0 ? 'k' : `k${n}`) });

/** What is thrown for the message with this number. */
type Thrower = (n: number) => void;

async function openShop(
  server: TestServer,
  handlers: Record<string, { readonly run: Thrower; readonly onDead?: 'park' }>,
): Promise<{
  database: OperatorDatabase;
  send: (...numbers: number[]) => Promise<void>;
  groups: () => Promise<ErrorGroup[]>;
}> {
  const database = await OperatorDatabase.open(server);
  const { pool, schema, operator } = database;
  const hf = holdfast({ service: 'shop', store: postgres({ pool, schema }) }) as unknown as Holdfast<never>;
  for (const [name, { run, onDead }] of Object.entries(handlers)) {
    hf.on(orderPlaced, name, ({ n }) => run(n), onDead ? { onDead } : {});
  }
  const running = await hf.start({ pollMs: 20 });
  onTestFinished(() => running.stop());
  let expected = 0;
  return {
    database,
    groups: async () => [...(await operator.groups()).items].sort((a, b) => (a.id < b.id ? -1 : 1)),
    send: async (...numbers) => {
      const client = await pool.connect();
      try {
        await client.query('begin');
        for (const n of numbers) await hf.send(client as never, orderPlaced, { n });
        await client.query('commit');
      } finally {
        client.release();
      }
      expected += numbers.length * Object.keys(handlers).length;
      const total = async (): Promise<number> =>
        (await operator.groups()).items.reduce((sum, one) => sum + one.total, 0);
      await expect.poll(total, { interval: 30 }).toBe(expected);
    },
  };
}

describe('error groups', () => {
  test('hold what failed for one cause at one handler, open again by themselves unless ignored, and are told who changed them [X.5]', async ({
    postgres: server,
  }) => {
    const fail = (n: number): never => {
      throw new TerminalHandlerError(`customer ${n} has no card`);
    };
    const { database, send, groups } = await openShop(server, { charge: { run: fail }, receipt: { run: fail } });
    const { operator } = database;
    await send(1, 2);
    const [one, two] = await groups();
    expect(await groups()).toHaveLength(2);
    expect(new Set([one?.handler, two?.handler])).toEqual(new Set(['charge', 'receipt']));
    expect(one).toMatchObject({
      service: 'shop',
      type: 'order.placed',
      state: 'open',
      changed: undefined,
      pending: 2,
      total: 2,
      error: { name: 'TerminalHandlerError' },
    });
    expect(one?.id).toMatch(/^1-[0-9a-f]{16}$/);
    expect(one?.frames[0]).toBe('fail (error-groups.test.ts)');
    expect(one?.trend).toHaveLength(24);
    expect(one?.trend.reduce((sum, n) => sum + n, 0)).toBe(2);
    const [a, b] = [one?.id ?? '', two?.id ?? ''];

    expect(await operator.resolveGroup(a, ANN)).toMatchObject({
      kind: 'changed',
      group: { state: 'resolved', changed: ANN },
    });
    expect(await operator.resolveGroup(a, ANN)).toMatchObject({ kind: 'unchanged' });
    expect(await operator.ignoreGroup(b, { actor: 'bob' })).toMatchObject({
      kind: 'changed',
      group: { state: 'ignored' },
    });
    await send(3);
    const states = (await groups()).map(({ state, changed, total, pending }) => [
      state,
      changed?.actor,
      total,
      pending,
    ]);
    expect(states).toEqual([
      ['open', undefined, 3, 3],
      ['ignored', 'bob', 3, 3],
    ]);
    expect(await operator.resolveGroup(a, ANN)).toMatchObject({ kind: 'changed' });
    expect(await operator.reopenGroup(b, ANN)).toMatchObject({
      kind: 'changed',
      group: { state: 'open', changed: ANN },
    });
    expect(await operator.reopenGroup('1-0000000000000000', ANN)).toEqual({ kind: 'not-found' });
    const audit = (await operator.audit()).items.map(({ verb, details }) => [verb, details['group']]);
    expect(audit).toEqual([
      ['reopen-group', b],
      ['resolve-group', a],
      ['ignore-group', b],
      ['resolve-group', a],
    ]);

    const { items } = await operator.deadLetters({ group: a });
    expect(items.map(({ group, handler }) => [group, handler])).toEqual(
      Array.from({ length: 3 }, () => [a, one?.handler]),
    );
    await operator.replay(items[0]?.id ?? '', ANN);
    expect(
      (await operator.deadLetters({ group: a, status: 'replaying' })).items.length +
        (await operator.deadLetters({ group: a })).items.length,
    ).toBe(3);
    expect(await operator.group(b)).toMatchObject({ kind: 'found', group: { id: b }, sample: { group: b } });
    expect(await operator.group('nonsense')).toEqual({ kind: 'not-found' });
    const ids = async (filter: Parameters<typeof operator.groups>[0]): Promise<string[]> =>
      (await operator.groups(filter)).items.map(({ id }) => id);
    expect(await ids({ state: 'resolved', handler: one?.handler })).toEqual(expect.any(Array));
    expect(await ids({ handler: `shop/${one?.handler ?? ''}`, search: 'NO CARD', isPending: true })).toEqual([a]);
    expect(await ids({ search: 'nobody says this' })).toEqual([]);
    const first = await operator.groups({ limit: 1 });
    const rest = await operator.groups({ limit: 1, cursor: first.next });
    expect(new Set([first.items[0]?.id, rest.items[0]?.id])).toEqual(new Set([a, b]));
    await expect(operator.groups({ state: 'shut' as never })).rejects.toThrow('state');
  });

  test('take whatever was thrown, and what died without an error of its own [X.5]', async ({ postgres: server }) => {
    const thrown: unknown[] = [
      new TerminalHandlerError(`nul \u0000 half \ud800 ${'long '.repeat(100_000)}`),
      Object.assign(new TerminalHandlerError('named'), {
        name: `Evil\n${'x'.repeat(10_000)}`,
        code: "'; drop table--",
      }),
      Object.assign(new TerminalHandlerError('stacked'), { stack: `${'    at a (\n'.repeat(5_000)}@@@:::` }),
    ];
    const run = (n: number): void => {
      if (n >= -1) throw thrown[Math.abs(n)];
    };
    const { database, send, groups } = await openShop(server, { charge: { run, onDead: 'park' } });
    await send(0, 2, -1, -2, -3);
    const found = await groups();
    expect(found.map(({ pending }) => pending).toSorted((x, y) => x - y)).toEqual([1, 1, 1, 2]);
    expect(found.map(({ error }) => error.code)).toContain('PARKED');
    const dead = await database.operator.deadLetters();
    expect(new Set(dead.items.map(({ group }) => group))).toEqual(new Set(found.map(({ id }) => id)));
  });

  test('are kept cheap: counts by the hour are added up, and causes of long ago, old plans and ended operations are forgotten [X.5]', async ({
    postgres: server,
  }) => {
    const { database, send, groups } = await openShop(server, {
      charge: {
        run: () => {
          throw new TerminalHandlerError('no');
        },
      },
    });
    await send(1, 2);
    await database.sql(`insert into $S.error_group (id, service, handler, type, error, frames, last_seen_at, state)
      select '1-000000000000000' || n, 'shop', 'gone', 'x', '{"name": "Error", "message": ""}', '[]', now() - interval '31 days',
        case n when 1 then 'open' else 'ignored' end from generate_series(1, 2) n`);
    const bulks = ['planned', 'young', 'ended', 'kept'];
    await database.sql(
      `insert into $S.bulk (id, verb, filter, canary, actor, is_cut, total, counts, canary_to, reason, state, created_at, ended_at)
      select gen_random_uuid(), 'replay', '{}', 0, 'ann', false, 1, '{1,0,0,0,0,0,0}', 0, r, case when n < 3 then 'planned' else 'done' end,
        case when r = 'planned' then now() - interval '61 minutes' else now() end,
        case r when 'ended' then now() - interval '8 days' when 'kept' then now() - interval '6 days' end
      from unnest($1::text[]) with ordinality as b (r, n)`,
      [bulks],
    );
    await database.sql(
      `insert into $S.bulk_item (bulk, place, id, handler, cycle, rerun) select id, 1, id, 1, 0, 0 from $S.bulk`,
    );
    await database.sql(`insert into $S.bulk_parcel select id, 2, array[id], '{1}', '{0}', '{0}' from $S.bulk`);
    await database.sql(`update $S.error_tally set hour = hour - 30, last_at = last_at - interval '30 hours'`);
    await expect.poll(async () => (await database.sql(`select from $S.error_tally`)).length, { interval: 100 }).toBe(0);
    await expect.poll(async () => (await groups()).length, { interval: 100 }).toBe(2);
    const left = async (): Promise<unknown> =>
      (await database.sql(`select b.reason from $S.bulk b join $S.bulk_item i on i.bulk = b.id order by 1`)).map(
        (row) => row['reason'],
      );
    await expect.poll(left, { interval: 100 }).toEqual(['kept', 'young']);
    await expect.poll(() => database.sql(`select from $S.bulk_item`), { interval: 100 }).toHaveLength(2);
    await expect.poll(() => database.sql(`select from $S.bulk_parcel`), { interval: 100 }).toHaveLength(2);
    expect((await groups()).map(({ total, trend }) => [total, Math.max(...trend)])).toEqual([
      [0, 0],
      [2, 0],
    ]);
  });
});

test('dead letters are found by group and by values in their payload through an index [X.5]', async ({
  postgres: server,
}) => {
  const database = await OperatorDatabase.open(server);
  const { schema, operator } = database;
  await database.handler(1, 'shop', 'charge');
  const id = randomUUID();
  await database.sql(
    `insert into $S.delivery (id, handler, unit, state, type, payload, source, error, failed_at)
     select case n when 7 then $1::uuid else gen_random_uuid() end, 1, 32, 2, 'order.placed',
       jsonb_build_object('customer', jsonb_build_object('id', n, 'vip', n = 7), 'note', null, 'a', jsonb_build_object('b', 'x' || n)), 'orders',
       jsonb_build_object('name', 'Error', 'message', '', 'group', '1-' || n % 1000), clock_timestamp()
     from generate_series(1, 4000) n`,
    [id],
  );
  await database.sql(`analyze $S.delivery`);
  const found = async (path: string[], value: string | number | boolean | null): Promise<number> =>
    (await operator.deadLetters({ payload: [{ path, value }] })).items.length;
  expect(
    (
      await operator.deadLetters({
        payload: [
          { path: ['customer', 'id'], value: 7 },
          { path: ['a', 'b'], value: 'x7' },
        ],
      })
    ).items[0]?.messageId,
  ).toBe(id);
  expect(await found(['customer', 'vip'], true)).toBe(1);
  expect(await found(['customer', 'id'], '7')).toBe(0);
  expect(await found(['note'], null)).toBe(100);
  await expect(operator.deadLetters({ payload: [{ path: [], value: 1 }] })).rejects.toThrow('payload');
  const planOf = async (filter: Parameters<typeof deadLetterCondition>[0]): Promise<string> => {
    const { text, params } = deadLetterCondition(filter, 1);
    const statement = listStatement(`"${schema}"`, 'pending', text, params.length + 1);
    const rows = await database.sql(`explain ${statement}`, [...params, null, null, 100]);
    return rows.map((row) => String(row['QUERY PLAN'])).join('\n');
  };
  expect(await planOf({ payload: [{ path: ['customer', 'id'], value: 7 }] })).toContain('delivery_dead_payload');
  expect(await planOf({ group: '1-7' })).toContain('delivery_group');
});
