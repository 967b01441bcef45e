import { describe, expect, onTestFinished } from 'vitest';
import { event, type Holdfast, holdfast, policy, TerminalHandlerError } from '../../src/index.ts';
import type { Overview } from '../../src/operator/index.ts';
import { postgres } from '../../src/postgres/index.ts';
import { own } from '../postgres/support/worker.ts';
import { draftMessage } from '../../src/testing/draft-message.ts';
import { needs } from '../support/needs.ts';
import { OperatorDatabase, SMTP_ERROR } from './operator-database.ts';

const test = needs('postgres');
const orderPlaced = event<{ n: number }>('order.placed');
const KEEP = { historyMs: 86_400_000, maxPending: undefined };
const COUNTED = ['sent', 'done', 'retried', 'dead', 'suppressed', 'refused'] as const;

type Sums = Record<(typeof COUNTED)[number], number>;

function sums({ points }: Overview): Sums {
  const sum = (name: keyof Sums): number => points.reduce((total, point) => total + point[name], 0);
  return Object.fromEntries(COUNTED.map((name) => [name, sum(name)])) as Sums;
}

describe('the overview', () => {
  test('adds up what two processes did, to the message: done, retried, dead and sent [X.2] [X.3]', async ({
    postgres: server,
  }) => {
    const database = await OperatorDatabase.open(server);
    const { pool, schema, operator } = database;
    const failedOnce = new Set<number>();
    const start = async (): Promise<() => Promise<void>> => {
      const hf = holdfast({ service: 'mail', store: postgres({ pool, schema }) }) as unknown as Holdfast<never>;
      const soon = policy({ maxAttempts: 3, baseDelayMs: 1, maxDelayMs: 1, jitter: false });
      const handle = ({ n }: { readonly n: number }): void => {
        if (n % 6 === 0) throw new TerminalHandlerError('no such address');
        if (n % 6 !== 1 || failedOnce.has(n)) return;
        failedOnce.add(n);
        throw new Error('again');
      };
      hf.on(orderPlaced, 'welcome', handle, { policy: soon });
      const relay = await hf.start({ pollMs: 20 });
      onTestFinished(() => relay.stop());
      return () => relay.stop();
    };
    const stops = [await start(), await start()];
    const samples = async (): Promise<unknown> => (await database.sql(`select count(*)::int as n from $S.sample`))[0];
    await expect.poll(samples, { interval: 50 }).not.toEqual({ n: 0 });
    const hf = holdfast({ service: 'shop', store: postgres({ pool, schema }) }) as unknown as Holdfast<never>;
    const client = await pool.connect();
    await client.query('begin');
    for (let n = 0; n < 30; n++) await hf.send(client as never, orderPlaced, { n });
    await client.query('commit');
    client.release();
    const open = `select count(*)::int as n from $S.delivery where state < 2`;
    await expect.poll(async () => (await database.sql(open))[0], { interval: 20 }).toEqual({ n: 0 });
    // What is not written yet is written at the end.
    for (const stop of stops) await stop();
    const overview = await operator.overview();
    expect(sums(overview)).toEqual({ sent: 30, done: 25, retried: 5, dead: 5, suppressed: 0, refused: 0 });
    expect(overview.handlers).toMatchObject([
      { service: 'mail', handler: 'welcome', failed: 5, pending: 0, workers: [], donePerSecond: 25 / 300 },
    ]);
    expect(overview.handlers[0]?.errorShare).toBeCloseTo(10 / 35);
    expect(overview.attention[0]).toMatchObject({ kind: 'no-worker' });
    const [rows] = await database.sql(`select count(*)::int as n from $S.tally`);
    expect(rows?.['n']).toBeLessThanOrEqual(4);
    for (const range of ['day', 'week'] as const) {
      expect(sums(await operator.overview({ range }))).toEqual(sums(overview));
    }
  });

  test('counts results that came too late and messages that came again as suppressed [X.2] [X.3]', async ({
    postgres: server,
  }) => {
    const database = await OperatorDatabase.open(server);
    const worker = await own(postgres({ pool: database.pool, schema: database.schema }));
    const message = {
      ...draftMessage({ id: crypto.randomUUID(), type: 'thing.done' }),
      sourceId: 'kafka:t@0@1',
      takenAs: 'thing.done',
    };
    for (let time = 0; time < 3; time++) await worker.session.receive([message], 60_000);
    worker.session.observe?.({ kind: 'run-refused', handler: 'first', delivery: {} as never, reason: 'lease-lost' });
    await worker.session.leave(worker.id);
    expect(sums(await database.operator.overview())).toMatchObject({ suppressed: 3, refused: 1 });
  });

  test('keeps a week of it in few rows: the housekeeper adds up what is old and forgets what is older [X.18]', async ({
    postgres: server,
  }) => {
    const database = await OperatorDatabase.open(server);
    const worker = await own(postgres({ pool: database.pool, schema: database.schema }));
    // Two processes, every ten minutes, for nine days.
    await database.sql(`insert into $S.tally (at, handler, done, retried, dead, suppressed, refused)
      select date_trunc('minute', now()) - n * interval '10 minutes', 1, 1, 1, 1, 1, 1 from generate_series(0, 9 * 144 - 1) n, generate_series(1, 2)`);
    const before = sums(await database.operator.overview({ range: 'week' }));
    await worker.session.tidy(KEEP);
    const after = sums(await database.operator.overview({ range: 'week' }));
    expect(after).toEqual(before);
    const [row] = await database.sql<{ n: number; days: number }>(
      `select count(*)::int as n, (extract(epoch from now() - min(at)) / 86400)::float8 as days from $S.tally`,
    );
    expect(row?.n).toBeLessThan(400);
    expect(row?.days).toBeLessThan(8.1);
    const [seen] = await database.sql<{ n: number }>(`select count(*)::int as n from $S.sample`);
    expect(seen?.n).toBe(1);
  });

  test('what stands behind a dead letter of its key is held and not late [X.4]', async ({ postgres: server }) => {
    const database = await OperatorDatabase.open(server);
    await database.handler(1, 'mail', 'welcome');
    await database.sql(
      `insert into $S.lease (unit) select m.units + b from $S.meta m, generate_series(0, m.units - 1) b`,
    );
    await database.dead({ handler: 1, key: 'k', holds: true });
    await database.delivery({ handler: 1, key: 'k' });
    const { operator } = database;
    const worker = await own(postgres({ pool: database.pool, schema: database.schema }));
    const oldest = async (): Promise<(number | undefined)[]> => [
      (await operator.overview()).handlers[0]?.oldestMs,
      (await operator.stats()).handlers[0]?.oldestMs,
      (await worker.session.tidy(KEEP)).oldestMs,
    ];
    expect(await oldest()).toEqual([undefined, undefined, undefined]);
    await database.delivery({ handler: 1, key: 'other' });
    expect(await oldest()).toEqual([expect.any(Number), expect.any(Number), expect.any(Number)]);
  });

  test('a delivery whose destination, queue or key stands still is not late, and an open destination is told of [X.10]', async ({
    postgres: server,
  }) => {
    const database = await OperatorDatabase.open(server);
    await database.handler(1, 'delivery', 'deliver');
    await database.worker('host 1', [1]);
    for (const key of ['to:https://a.example', 'queue:mails', 'flow:tenant'])
      await database.delivery({ handler: 1, key, type: 'http.delivery' });
    await database.sql(`update $S.delivery set created_at = now() - interval '2 minutes'`);
    const told = async (): Promise<string[]> =>
      (await database.operator.overview()).attention.map(({ kind, link }) => `${kind} ${link}`);
    const late = 'late messages?handler=delivery%2Fdeliver&status=pending';
    const stop = [
      `insert into $S.http_destination (destination, state) values ('https://a.example', 2)`,
      `insert into $S.http_queue (name, is_paused) values ('mails', true)`,
      `insert into $S.http_flow (key, is_paused) values ('tenant', true)`,
    ];
    expect(await told()).toEqual([late]);
    for (const statement of stop.slice(0, 2)) await database.sql(statement);
    expect(await told()).toEqual(['breaker-open destinations', late]);
    await database.sql(stop[2] ?? '');
    expect(await told()).toEqual(['breaker-open destinations']);
    // Other handlers may have keys that look the same.
    await database.sql(`update $S.delivery set type = 'order.placed'`);
    expect(await told()).toEqual(['breaker-open destinations', late]);
  });

  test('of an empty database says that no worker runs, and has all its steps [X.18]', async ({ postgres: server }) => {
    const database = await OperatorDatabase.open(server);
    const overview = await database.operator.overview();
    expect(overview).toMatchObject({
      verdict: '1 thing needs you',
      range: 'hour',
      stepMs: 60_000,
      handlers: [],
      audit: [],
    });
    expect(overview.points).toHaveLength(60);
    await expect(database.operator.overview({ range: 'year' as never })).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    });
  });
});

describe('the system', () => {
  test('shows workers, what they run, tables, and who holds the oldest snapshot [X.18]', async ({
    postgres: server,
  }) => {
    const database = await OperatorDatabase.open(server);
    await database.handler(1, 'mail', 'welcome');
    const worker = await database.worker('host 1', [1]);
    const id = await database.delivery();
    await database.dead();
    await database.delivery({ state: 'delivered' });
    await database.sql(`insert into $S.running select id, unit, $2, 3, now() from $S.delivery where id = $1`, [
      id,
      worker,
    ]);
    await database.sql(`update $S.lease set owner = $1 where unit = -1`, [worker]);
    const holder = await database.connect();
    await holder.query(`set application_name = 'forgetful'; begin isolation level repeatable read; select 1`);
    await database.sql(`select pg_current_xact_id()`);
    const { operator } = database;
    const snapshot = async (): Promise<unknown> => (await operator.system()).oldestSnapshot?.application;
    await expect.poll(snapshot, { interval: 300 }).toBe('forgetful');
    const system = await operator.system();
    expect(system).toMatchObject({
      version: 'unknown',
      schema: { name: database.schema, version: 1, expected: 1 },
      workers: [
        {
          name: 'host 1',
          units: 32,
          isHousekeeper: true,
          running: [{ messageId: id, handler: 'mail/welcome', attempt: 3, startedAt: expect.any(Date) }],
        },
      ],
      historySince: expect.any(Date),
      oldestSnapshot: { what: 'session', state: 'idle in transaction' },
    });
    await holder.query('rollback');
    expect(system.tables.map(({ table }) => table)).toEqual(expect.arrayContaining(['delivery', 'delivered', 'tally']));
    expect(system.findings).toContainEqual({ level: 'warning', title: 'dead letters: 1', advice: 'holdfast dlq:list' });
    expect(system.findings.filter(({ level }) => level === 'problem')).toEqual([]);
  });
});

describe('what is kept besides messages', () => {
  test('idempotency records: a run whose lease has ended is unknown, and pages follow each other [X.18]', async ({
    postgres: server,
  }) => {
    const database = await OperatorDatabase.open(server);
    await database.sql(`insert into $S.idempotency (id, domain, status, fingerprint, owner, run, lease_until, head, created_at, updated_at, expires_at, reap_at)
      select 'id-' || n, case when n < 3 then 'orders' else 'users' end, s, 'f', 'o', n, now() + case when n = 1 then interval '-1 minute' else interval '1 minute' end,
        case when s = 'completed' then '{}' end, now(), now(), now() + case when n = 6 then interval '-1 second' else interval '1 hour' end, now() + n * interval '1 minute'
      from unnest(array['processing', 'processing', 'completed', 'failed', 'unknown', 'completed']) with ordinality as t (s, n)`);
    const { operator } = database;
    const ids = async (filter: object): Promise<string[]> =>
      (await operator.idempotencyRecords(filter)).items.map(({ id }) => id);
    expect(await ids({})).toEqual(['id-5', 'id-4', 'id-3', 'id-2', 'id-1']);
    expect(await ids({ status: 'unknown' })).toEqual(['id-5', 'id-1']);
    expect(await ids({ status: 'processing' })).toEqual(['id-2']);
    expect(await ids({ domain: 'orders', status: 'unknown' })).toEqual(['id-1']);
    const first = await operator.idempotencyRecords({ limit: 2 });
    expect(first.items[0]).toMatchObject({ id: 'id-5', run: 5, hasReply: false, expiresAt: expect.any(Date) });
    expect(await ids({ limit: 2, cursor: first.next })).toEqual(['id-3', 'id-2']);
    await expect(operator.idempotencyRecords({ status: 'lost' as never })).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    });
    await expect(operator.idempotencyRecords({ cursor: 'x' })).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
  });

  test('commands by state, name and target, and outgoing calls by service, destination and outcome [X.18]', async ({
    postgres: server,
  }) => {
    const database = await OperatorDatabase.open(server);
    const id = (n: number): string => `01a00000-0000-7000-8000-00000000000${n}`;
    for (const n of [1, 2, 3]) {
      await database.sql(
        `insert into $S.command (id, service, name, target, module, idempotency_key, state, on_exhausted, request_hash, keep_ms)
        values ($1::uuid, 'loans', $2, $3, 'm', $1::uuid::text, 'queued', 'dlq', '', 1)`,
        [id(n), n === 3 ? 'pay' : 'approve', n === 1 ? 'loan 1' : 'loan 2'],
      );
      await database.sql(`insert into $S.fact values ($1, now(), 'shop', $2, $3, null, '{}', $4)`, [
        id(n),
        n === 3 ? 'request' : 'call',
        n === 1,
        { operation: 'pay', url: 'https://api.bank.example/pay', httpStatus: 200 + n, latencyMs: 4.4, attempt: n },
      ]);
    }
    const { operator } = database;
    const commands = async (filter: object): Promise<string[]> =>
      (await operator.commands(filter)).items.map((one) => one.id);
    expect(await commands({})).toEqual([id(3), id(2), id(1)]);
    expect(await commands({ target: 'loan 2' })).toEqual([id(3), id(2)]);
    expect(await commands({ target: 'loan 2', name: 'approve', state: 'queued' })).toEqual([id(2)]);
    const page = await operator.commands({ limit: 1 });
    expect(await commands({ limit: 1, cursor: page.next })).toEqual([id(2)]);
    const calls = async (filter: object): Promise<string[]> =>
      (await operator.outgoingCalls(filter)).items.map((one) => one.id);
    expect(await calls({})).toEqual([id(2), id(1)]);
    expect(await calls({ isOk: false })).toEqual([id(2)]);
    expect(await calls({ destination: 'api.bank.example', service: 'shop', isOk: true })).toEqual([id(1)]);
    expect((await operator.outgoingCalls({ limit: 1 })).items).toMatchObject([
      { operation: 'pay', destination: 'api.bank.example', status: 202, durationMs: 4, attempt: 2, isOk: false },
    ]);
  });

  test('a key that is held tells since when, and which breaker its next attempt waits for [X.18] [X.10]', async ({
    postgres: server,
  }) => {
    const database = await OperatorDatabase.open(server);
    await database.handler(1, 'mail', 'welcome');
    await database.dead({ key: 'k', error: SMTP_ERROR, failedSecondsAgo: 3_600 });
    const [held] = (await database.operator.heldKeys()).items;
    expect(Date.now() - (held?.holder.since?.getTime() ?? 0)).toBeGreaterThan(3_500_000);
    await database.delivery({ state: 'waiting', key: 'l', error: SMTP_ERROR, dueInSeconds: -20 });
    await database.sql(`update $S.handler set breaker = 'smtp'`);
    await database.sql(`insert into $S.breaker (service, name, failures, state) values ('mail', 'smtp', 5, 0)`);
    const breakers = async (): Promise<unknown> =>
      Object.fromEntries((await database.operator.heldKeys()).items.map(({ key, holder }) => [key, holder.breaker]));
    expect(await breakers()).toEqual({ k: undefined, l: undefined });
    await database.sql(`update $S.breaker set state = 2, probe_at = '2030-01-01T00:00:00Z'`);
    expect(await breakers()).toEqual({ k: undefined, l: { name: 'mail/smtp', probeAt: new Date('2030-01-01') } });
  });
});
