import { describe, expect } from 'vitest';
import type { FailureCycle } from '../../src/operator/failure-cycle.ts';
import { needs } from '../support/needs.ts';
import { ANN, OperatorDatabase, SMTP_ERROR } from './operator-database.ts';

const test = needs('postgres');

async function twoHandlers(server: Parameters<typeof OperatorDatabase.open>[0]): Promise<OperatorDatabase> {
  const database = await OperatorDatabase.open(server);
  await database.handler(1, 'mail', 'welcome');
  await database.handler(2, 'growth', 'score');
  return database;
}

async function markRunning(database: OperatorDatabase, id: string, handler: number): Promise<void> {
  await database.sql(
    `insert into $S.running select d.id, d.unit, w.id, 2, now() from $S.delivery d, $S.worker w
     where d.id = $1 and d.handler = $2`,
    [id, handler],
  );
}

describe('the view outbox', () => {
  test('shows each message once, with the summary of its deliveries [S4.1]', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    await database.worker('host:7', [1, 2]);
    const both = async (first: object, second: object): Promise<string> => {
      const id = await database.delivery({ handler: 1, ...first });
      return database.delivery({ id, handler: 2, ...second });
    };
    const failed = { state: 'failed', attempts: 5, error: SMTP_ERROR };
    const delivered = { state: 'delivered' };
    const expected: [id: string, status: string, deleted: boolean][] = [
      [await both(failed, {}), 'failed', false],
      [await both(delivered, failed), 'failed', false],
      [await both({ ...failed, attempts: 1 }, failed), 'failed', false],
      [await both({ ...failed, attempts: 0 }, { state: 'waiting', attempts: 2 }), 'failed', false],
      [await both({}, {}), 'pending', false],
      [await both(delivered, { state: 'waiting' }), 'pending', false],
      [await both(delivered, delivered), 'delivered', false],
      [await both(delivered, { state: 'discarded' }), 'failed', true],
      [await both({ state: 'discarded' }, delivered), 'failed', true],
      [await both({ state: 'discarded' }, { state: 'discarded' }), 'failed', true],
      [await both({ state: 'discarded' }, {}), 'pending', false],
      [await both({ state: 'cancelled' }, { state: 'cancelled' }), 'pending', true],
      [await database.delivery({ handler: 0 }), 'pending', false],
    ];
    const running = await both({}, {});
    await markRunning(database, running, 1);
    await markRunning(database, running, 2);
    expected.push([running, 'in_flight', false]);
    const besideDead = await both(failed, {});
    await markRunning(database, besideDead, 2);
    expected.push([besideDead, 'failed', false]);
    const rows = await database.sql<{ id: string; status: string; deleted: boolean }>(
      `select id, status, deleted_at is not null as deleted from $S.outbox`,
    );
    const shown = rows.map(({ id, status, deleted }) => [id, status, deleted]);
    expect(shown).toHaveLength(expected.length);
    expect(shown).toEqual(expect.arrayContaining(expected));
  });

  test('shows the failed delivery with the most attempts, and its error as text [S4.4]', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const id = await database.dead({ handler: 1, attempts: 2 });
    await database.dead({ id, handler: 2, attempts: 5, error: { name: 'TypeError', message: 'x is not a function' } });
    expect(await database.sql(`select * from $S.outbox`)).toMatchObject([
      {
        attempts: 5,
        last_error: 'TypeError: x is not a function',
        first_failed_at: expect.any(Date),
        failed_at: expect.any(Date),
        failure_history: [],
        deleted_at: null,
        published_at: null,
      },
    ]);
  });

  test('a message reported running by a worker that died is pending again [S4.1]', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    await database.worker('host:7', [1]);
    const id = await database.delivery();
    await markRunning(database, id, 1);
    await database.sql(`update $S.worker set expires_at = now() - interval '1 second'`);
    expect(await database.sql(`select status from $S.outbox`)).toEqual([{ status: 'pending' }]);
  });

  test('the query for dead letters reads neither the history nor what is in line [S4.1]', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    await database.dead();
    await database.sql(`insert into $S.delivery (id, handler, unit, type, payload, idempotency_key, source)
      select gen_random_uuid(), 1, 33, 'order.placed', '{}', '', 'orders' from generate_series(1, 5000)`);
    await database.sql(`analyze $S.delivery`);
    const plan = async (query: string): Promise<string> =>
      (await database.sql<Record<string, string>>(`explain ${query}`)).map((row) => row['QUERY PLAN']).join('\n');
    const query = `select * from $S.outbox where status = 'failed' and deleted_at is null`;
    expect(await database.sql(query)).toHaveLength(1);
    expect(await plan(query)).toMatch(/delivery_(failed|group|dead)/);
    expect(await plan(query)).not.toContain('delivered');
    expect(await plan(query)).not.toContain('Seq Scan');
    const letters = await plan(`select * from $S.dead_letters where status = 'pending'`);
    expect(letters).not.toContain('delivered');
    expect(await plan(`select * from $S.outbox where status = 'delivered'`)).toContain('delivered_3');
  });
});

describe('the view dead_letters', () => {
  test('says pending, replaying, replayed and discarded, with the cycle that failed [S0.9]', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const id = await database.dead();
    const shown = async (): Promise<unknown> => (await database.sql(`select * from $S.dead_letters`))[0];
    const letter = {
      id: `${id}:1`,
      message_id: id,
      service: 'mail',
      handler: 'welcome',
      source_stream: 'orders',
      source_message_id: id,
      payload: { total: 5 },
      attempts: 5,
      error: { code: 'SMTP_DOWN', message: 'no answer' },
      last_error: 'SMTP_DOWN: no answer',
      last_attempt_at: expect.any(Date),
      first_failed_at: expect.any(Date),
      created_at: expect.any(Date),
      updated_at: expect.any(Date),
    };
    expect(await shown()).toMatchObject({ ...letter, status: 'pending' });
    await database.operator.replay(id, ANN);
    expect(await shown()).toMatchObject({ ...letter, status: 'replaying' });
    await database.sql(`with d as (delete from $S.delivery returning *)
      insert into $S.delivered (slot, id, handler, outcome, version, attempts, cycle, rerun, type, payload, idempotency_key, source, failure_history)
      select 0, id, handler, 0, version, 1, cycle, 0, type, payload, idempotency_key, source, failure_history from d`);
    expect(await shown()).toMatchObject({ ...letter, status: 'replayed' });
    const other = await database.dead();
    await database.operator.discard(other, ANN);
    expect(await database.sql(`select * from $S.dead_letters where status = 'discarded'`)).toMatchObject([
      { ...letter, id: `${other}:1`, message_id: other, source_message_id: other, status: 'discarded', ...ANN },
    ]);
  });

  test('shows nothing that never failed for good', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    await database.delivery();
    await database.delivery({ state: 'waiting', attempts: 1, error: SMTP_ERROR });
    await database.delivery({ state: 'delivered', attempts: 2, error: SMTP_ERROR });
    await database.delivery({ state: 'cancelled' });
    expect(await database.sql(`select * from $S.dead_letters`)).toEqual([]);
  });
});

describe('the views run_log and event_handled', () => {
  test('record each handler of a message: status, attempt, error, times [S0.11]', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    await database.worker('host:7', [2]);
    const id = await database.delivery({ handler: 1, state: 'delivered', attempts: 2 });
    await database.delivery({ id, handler: 2, state: 'waiting', attempts: 1, error: SMTP_ERROR });
    expect(await database.sql(`select * from $S.run_log order by projector desc`)).toMatchObject([
      { event_id: id, projector: 'welcome', status: 'delivered', attempt: 2, completed_at: expect.any(Date) },
      { event_id: id, projector: 'score', status: 'waiting', attempt: 1, error: 'SMTP_DOWN: no answer' },
    ]);
    const [done] = await database.sql(
      `select completed_at - started_at = interval '7 ms' as ok from $S.run_log where projector = 'welcome'`,
    );
    expect(done).toEqual({ ok: true });
    await markRunning(database, id, 2);
    expect(await database.sql(`select * from $S.run_log where projector = 'score'`)).toMatchObject([
      { status: 'running', attempt: 2, started_at: expect.any(Date), completed_at: null },
    ]);
  });

  test('event_handled has what succeeded, and nothing else [S4.7]', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const id = await database.delivery({ handler: 1, state: 'delivered' });
    await database.dead({ id, handler: 2 });
    await database.delivery({ state: 'discarded' });
    expect(await database.sql(`select * from $S.event_handled`)).toEqual([
      { event_id: id, service: 'mail', handler: 'welcome', handled_at: expect.any(Date) },
    ]);
  });
});

describe('failure_history', () => {
  test('grows by a few hundred bytes with each replay, the stack left out [S4.4]', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const error = { ...SMTP_ERROR, message: 'm'.repeat(100), stack: 's'.repeat(4_000) };
    const id = await database.dead({ error });
    const sizes: number[] = [];
    for (let cycle = 0; cycle < 10; cycle++) {
      await database.operator.replay(id, ANN);
      const [row] = await database.sql<{ bytes: number }>(
        `update $S.delivery set state = 2, due_at = null, failed_at = now(), first_failed_at = now(), attempts = 5, error = $1
         returning octet_length(failure_history::text) as bytes`,
        [JSON.stringify(error)],
      );
      sizes.push(row?.bytes ?? 0);
    }
    const growth = sizes.slice(1).map((bytes, place) => bytes - (sizes[place] ?? 0));
    expect(Math.max(...growth)).toBeLessThan(500);
    const [row] = await database.rows(id);
    const history = row?.['failure_history'] as FailureCycle[];
    expect(history.map(({ cycle }) => cycle)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });
});
