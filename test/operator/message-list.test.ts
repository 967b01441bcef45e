import { describe, expect } from 'vitest';
import { uuidV7 } from '../../src/kernel/uuid-v7.ts';
import type { MessageFilter, MessagePage, TabCount } from '../../src/operator/index.ts';
import { needs } from '../support/needs.ts';
import { ANN, OperatorDatabase, type Row, SMTP_ERROR } from './operator-database.ts';

const test = needs('postgres');
const NOW = Date.UTC(2026, 5, 1);

/** The id of a message that was sent so many seconds ago. */
function idOf(secondsAgo: number, last = 0): string {
  return uuidV7(NOW - secondsAgo * 1_000, Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, last));
}

async function twoHandlers(server: Parameters<typeof OperatorDatabase.open>[0]): Promise<OperatorDatabase> {
  const database = await OperatorDatabase.open(server);
  await database.handler(1, 'mail', 'welcome');
  await database.handler(2, 'growth', 'score');
  return database;
}

/** Reads all pages, and tells whether one of them had too many. */
async function allPages(
  database: OperatorDatabase,
  filter: MessageFilter,
  limit: number,
  between: () => Promise<void> = async () => undefined,
): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const page: MessagePage = await database.operator.messages({ ...filter, limit, cursor });
    expect(page.items.length).toBeLessThanOrEqual(limit);
    expect(page.searchedBackTo === undefined).toBe(page.next === undefined);
    ids.push(...page.items.map(({ id }) => id));
    cursor = page.next;
    await between();
  } while (cursor !== undefined);
  return ids;
}

describe('the list of messages', () => {
  test('has every message once, as find tells it, with all its deliveries and its tab [X.18]', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const cases: readonly (readonly [string, readonly Row[]])[] = [
      ['pending', [{ state: 'ready' }, { handler: 2, state: 'delivered' }]],
      ['scheduled', [{ state: 'waiting' }]],
      [
        'retrying',
        [
          { state: 'waiting', attempts: 2, error: SMTP_ERROR },
          { handler: 2, state: 'ready' },
        ],
      ],
      [
        'failed',
        [
          { state: 'failed', attempts: 5, error: SMTP_ERROR },
          { handler: 2, state: 'waiting', attempts: 1, error: SMTP_ERROR },
        ],
      ],
      [
        'delivered',
        [
          { state: 'delivered', attempts: 1 },
          { handler: 2, state: 'delivered', attempts: 3 },
        ],
      ],
      [
        'discarded',
        [
          { state: 'discarded', attempts: 5, error: SMTP_ERROR },
          { handler: 2, state: 'delivered' },
        ],
      ],
      ['cancelled', [{ state: 'cancelled' }]],
      ['pending', [{ handler: 0, type: 'nobody.knows', state: 'ready' }]],
    ];
    const ids: string[] = [];
    for (const [place, [, rows]] of cases.entries()) {
      ids.push(idOf(100 + place));
      for (const row of rows) await database.delivery({ ...row, id: idOf(100 + place) });
    }
    const worker = await database.worker('host 1', [1]);
    const running = await database.delivery({ id: idOf(99), state: 'ready' });
    await database.sql(`insert into $S.running select id, unit, $2, 1, now() from $S.delivery where id = $1`, [
      running,
      worker,
    ]);
    const { items, next } = await database.operator.messages();
    expect(next).toBeUndefined();
    expect(items.map(({ id }) => id)).toEqual([running, ...ids]);
    expect(items.map(({ tab }) => tab)).toEqual(['in_flight', ...cases.map(([tab]) => tab)]);
    for (const { tab: _tab, deliveries: _deliveries, ...summary } of items) {
      expect(await database.operator.find(summary.id)).toEqual({ kind: 'found', message: summary });
    }
    expect(items[3]?.deliveries).toEqual([
      { service: 'mail', handler: 'welcome', status: 'waiting' },
      { service: 'growth', handler: 'score', status: 'ready' },
    ]);
    expect(items[8]?.deliveries).toEqual([{ service: undefined, handler: undefined, status: 'ready' }]);
    // Each tab finds exactly those that are listed as its own, and counts them.
    const counts = await database.operator.messageTabs();
    for (const { tab, count, precision } of counts) {
      const own = items.filter((one) => one.tab === tab).map(({ id }) => id);
      expect(await allPages(database, { status: tab }, 1), tab).toEqual(own);
      expect({ tab, count, precision }).toEqual({ tab, count: own.length, precision: 'exact' });
    }
  });

  test('pages lose nothing and repeat nothing while messages are sent, settled and replayed [X.18]', async ({
    postgres,
  }) => {
    const database = await twoHandlers(postgres);
    const ids = Array.from({ length: 40 }, (_, n) => idOf(100 + n));
    for (const [n, id] of ids.entries()) {
      await database.delivery({
        id,
        state: (['ready', 'failed', 'delivered'] as const)[n % 3] ?? 'ready',
        ...(n % 3 === 1 ? { error: SMTP_ERROR } : {}),
      });
      if (n % 4 === 0) await database.delivery({ id, handler: 2, state: n % 8 === 0 ? 'delivered' : 'ready' });
    }
    let step = 0;
    const seen = await allPages(database, {}, 3, async () => {
      step += 1;
      await database.delivery({ id: idOf(50 - step) });
      // A message moves into the history under the reader, and one that failed goes back into the line.
      await database.sql(
        `with gone as (delete from $S.delivery where ctid in (select ctid from $S.delivery where state = 0 and id < $1 order by random() limit 3) returning *)
        insert into $S.delivered (slot, id, handler, outcome, version, attempts, cycle, rerun, type, payload, source)
        select 3, id, handler, 0, 0, 1, 0, 0, type, payload, source from gone`,
        [idOf(99)],
      );
      await database.operator.replayWhere({ limit: 1 }, ANN);
    });
    expect(seen).toEqual(ids);
  });

  test('can be narrowed by each field alone and by all together [X.5]', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const wanted = idOf(100);
    const error = { ...SMTP_ERROR, code: 'ECONN', message: 'No answer from 100% of Ünits' };
    await database.dead({
      id: wanted,
      handler: 2,
      type: 'order.paid',
      key: `o'1`,
      payload: { customer: { id: 42 }, city: 'Zürich' },
      error,
    });
    await database.delivery({
      id: wanted,
      handler: 1,
      type: 'order.paid',
      key: `o'1`,
      payload: { customer: { id: 42 } },
      state: 'delivered',
    });
    await database.delivery({ id: idOf(200), payload: { customer: { id: '42' } } });
    await database.delivery({
      id: idOf(300),
      type: 'user.made',
      state: 'delivered',
      payload: { customer: { id: 43 } },
    });
    const found = (filter: MessageFilter): Promise<string[]> => allPages(database, filter, 2);
    const filters: MessageFilter = {
      status: 'failed',
      type: 'order.p*',
      key: `o'1`,
      service: 'growth',
      handler: 'score',
      error: 'econn',
      payload: [{ path: ['customer', 'id'], value: 42 }],
      since: new Date(NOW - 100_000),
      until: new Date(NOW - 99_999),
    };
    for (const [name, value] of Object.entries(filters)) {
      if (name !== 'until' && name !== 'type') expect(await found({ [name]: value }), name).toEqual([wanted]);
    }
    expect(await found(filters)).toEqual([wanted]);
    expect(await found({ type: 'order.p*' })).toEqual([wanted, idOf(200)]);
    expect(await found({ type: 'order.paid' })).toEqual([wanted]);
    expect(await found({ until: new Date(NOW - 100_000) })).toEqual([idOf(200), idOf(300)]);
    expect(await found({ handler: 'growth/score', error: 'OF Ü' })).toEqual([wanted]);
    // What is asked of a handler is asked of one and the same delivery.
    expect(await found({ handler: 'welcome', error: 'econn' })).toEqual([]);
    expect(await found({ status: 'failed', handler: 'welcome' })).toEqual([]);
    expect(await found({ ...filters, key: 'o1' })).toEqual([]);
    expect(await found({ service: 'nobody' })).toEqual([]);
    expect(
      await found({
        payload: [
          { path: ['a'], value: 1 },
          { path: ['a'], value: 2 },
        ],
      }),
    ).toEqual([]);
  });

  test('takes hostile values for what they are: values [X.18]', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    await database.delivery({ id: idOf(1) });
    const hostile = [`'; drop table delivery; --`, '$body$', '{"a":1}', '\\', '%_', '*', '💥"\n'];
    for (const value of hostile) {
      const path = [value];
      for (const filter of [
        { key: value },
        { handler: value },
        { error: value },
        { type: `x${value}` },
        { payload: [{ path, value }] },
      ]) {
        expect((await database.operator.messages(filter)).items, JSON.stringify(filter)).toEqual([]);
      }
    }
    expect((await database.operator.messages({ type: '*' })).items).toHaveLength(1);
    await expect(database.operator.messages({ cursor: 'x' })).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
  });

  test('a small page looks past messages that are in another tab [X.18]', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    await database.delivery({ id: idOf(60), state: 'delivered' });
    for (let age = 1; age <= 6; age += 1) {
      await database.delivery({ id: idOf(age), state: 'delivered' });
      await database.dead({ id: idOf(age), handler: 2 });
    }
    const { items } = await database.operator.messages({ status: 'delivered', limit: 1 });
    expect(items.map(({ id }) => id)).toEqual([idOf(60)]);
  });

  test('an empty database answers with nothing, and counts nothing [X.18]', async ({ postgres }) => {
    const database = await OperatorDatabase.open(postgres);
    expect(await database.operator.messages()).toEqual({ items: [], next: undefined, searchedBackTo: undefined });
    const tabs = await database.operator.messageTabs();
    expect(tabs.every(({ count, precision }: TabCount) => count === 0 && precision === 'exact')).toBe(true);
  });
});

describe('with a hundred thousand messages', () => {
  test('a call reads at most ten thousand deliveries and sorts none, and goes on where it stopped [X.18]', async ({
    postgres,
  }) => {
    const database = await twoHandlers(postgres);
    await fill(database);
    const one = await database.connect();
    await one.query(`load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on;
      set auto_explain.log_analyze = on; set auto_explain.log_timing = off; set auto_explain.log_format = json; set client_min_messages = log`);
    const plans: string[] = [];
    one.on('notice', ({ message = '' }) => plans.push(message));
    const { postgresOperator } = await import('../../src/postgres/index.ts');
    const operator = postgresOperator({ pool: one, schema: database.schema });
    const calls: readonly MessageFilter[] = [
      {},
      { type: 'rare.type' },
      { status: 'failed', key: 'nobody' },
      { status: 'delivered', error: 'x' },
      { status: 'discarded' },
    ];
    for (const filter of calls) {
      plans.length = 0;
      await operator.messages({ ...filter, limit: 10 });
      const read = plans.flatMap((plan) =>
        [...plan.matchAll(/"(?:Actual Rows|Rows Removed by [A-Z][a-z ]+[A-Za-z]+)": (\d+)/g)].map(([, rows]) =>
          Number(rows),
        ),
      );
      expect(plans.length, JSON.stringify(filter)).toBeGreaterThan(0);
      expect(Math.max(...read), JSON.stringify(filter)).toBeLessThanOrEqual(10_001);
    }
    // The rare one is in the middle of the history: so many calls find it, each of them bounded.
    let tries = 0;
    let page: MessagePage = await operator.messages({ type: 'rare.type' });
    while (page.items.length === 0 && page.next !== undefined) {
      tries += 1;
      page = await operator.messages({ type: 'rare.type', cursor: page.next });
    }
    expect(page.items).toHaveLength(1);
    expect(tries).toBeGreaterThan(1);
    const tabs = await operator.messageTabs();
    expect(tabs.find(({ tab }) => tab === 'failed')).toEqual({ tab: 'failed', count: 1_000, precision: 'exact' });
    const delivered = tabs.find(({ tab }) => tab === 'delivered');
    expect(delivered?.precision).toBe('estimate');
    expect(delivered?.count).toBeGreaterThan(90_000);
    // On request the history is indexed by key and payload: then one call finds what is rare.
    await database.sql(`select $S.history_search(true)`);
    const payload = [{ path: ['n'], value: 50_001 }];
    expect((await operator.messages({ payload })).items).toHaveLength(1);
    expect((await operator.messages({ key: 'key 50001' })).items).toHaveLength(1);
    await database.sql(`select $S.history_search(false)`);
    expect((await operator.messages({ payload })).items).toHaveLength(0);
  });
});

async function fill(database: OperatorDatabase): Promise<void> {
  const id = (n: string): string =>
    `(lpad(to_hex(${NOW - 100_000_000} + ${n} * 1000), 12, '0') || '7' || substr(md5((${n})::text), 1, 3) || '8' || substr(md5((${n})::text), 4, 15))::uuid`;
  await database.sql(`insert into $S.delivered (slot, id, handler, outcome, version, attempts, cycle, rerun, type, key, payload, source)
    select n % 8, ${id('n')}, 1, case when n % 10000 = 0 then 1 else 0 end, 0, 1, 0, 0, case n when 50000 then 'rare.type' else 'order.placed' end,
      'key ' || n, jsonb_build_object('n', n), 'shop' from generate_series(1, 99000) n`);
  await database.sql(`insert into $S.delivery (id, handler, unit, state, failed_at, type, payload, source, error)
    select ${id('n')}, 1, 32 + n % 32, 2, now(), 'order.placed', '{}', 'shop', '{"name":"E","message":"m","kind":"k"}' from generate_series(99001, 100000) n`);
  await database.sql(`analyze $S.delivered`);
}
