import { describe, expect } from 'vitest';
import { wakeChannel } from '../../src/postgres/relay/wake-statement.ts';
import { postgresOperator } from '../../src/postgres/operator/postgres-operator.ts';
import { needs } from '../support/needs.ts';
import { ANN, OperatorDatabase, SMTP_ERROR } from './operator-database.ts';

const test = needs('postgres');
const NOBODY = '00000000-0000-4000-8000-000000000000';

async function twoHandlers(server: Parameters<typeof OperatorDatabase.open>[0]): Promise<OperatorDatabase> {
  const database = await OperatorDatabase.open(server);
  await database.handler(1, 'mail', 'welcome');
  await database.handler(2, 'growth', 'score', { repeatable: true });
  return database;
}

describe('replay of a message', () => {
  test('is in place: id and idempotency key stay, the failed cycle goes to the history, attempts begin anew [S4.4]', async ({
    postgres,
  }) => {
    const database = await twoHandlers(postgres);
    const id = await database.dead({ generation: 7, retry: { v: 1 } });
    await database.sql(`update $S.delivery set starts = 3`);
    const [before = {}] = await database.rows(id);
    expect(await database.operator.replay(id, ANN)).toEqual({ kind: 'replayed', count: 1 });
    const [after] = await database.rows(id);
    expect(after).toMatchObject({
      id,
      idempotency_key: before['idempotency_key'],
      seq: before['seq'],
      unit: before['unit'],
      state: 1,
      attempts: 0,
      starts: 0,
      version: 0,
      cycle: 1,
      retry: null,
      error: null,
      first_failed_at: null,
      failed_at: null,
      generation: '7',
    });
    expect(after?.['failure_history']).toEqual([
      {
        cycle: 0,
        service: 'mail',
        handler: 'welcome',
        attempts: 5,
        firstFailedAt: (before['first_failed_at'] as Date).toISOString(),
        failedAt: (before['failed_at'] as Date).toISOString(),
        error: { name: 'Error', code: 'SMTP_DOWN', kind: 'network', message: 'no answer' },
        generation: 7,
        replayedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        replayedBy: 'ann',
      },
    ]);
    expect(await database.pokes()).toBe(1);
    const { items } = await database.operator.audit({ messageId: id });
    expect(items).toMatchObject([{ verb: 'replay', ...ANN, service: 'mail', handler: 'welcome' }]);
  });

  test('is due at once', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const id = await database.dead();
    await database.operator.replay(id, ANN);
    expect(await database.sql(`select due_at <= clock_timestamp() as due from $S.delivery`)).toEqual([{ due: true }]);
  });

  test('runs only what failed: a handler that succeeded and one that is in line are left alone [S4.7]', async ({
    postgres,
  }) => {
    const database = await twoHandlers(postgres);
    await database.handler(3, 'mail', 'receipt');
    const id = await database.dead({ handler: 1 });
    await database.delivery({ id, handler: 2, state: 'delivered' });
    await database.delivery({ id, handler: 3 });
    expect(await database.operator.replay(id, ANN)).toEqual({ kind: 'replayed', count: 1 });
    expect(await database.rows(id)).toMatchObject([
      { handler: 1, cycle: 1 },
      { handler: 3, cycle: 0, state: 0 },
    ]);
  });

  test('of two callers at once one replays, and the other is told that it is not failed [S4.4]', async ({
    postgres,
  }) => {
    const database = await twoHandlers(postgres);
    const id = await database.dead();
    const first = await database.connect();
    await first.query('begin');
    await first.query(`select outbox_replay($1, null, 'bob')`, [id]);
    const second = database.operator.replay(id, ANN);
    const third = database.operator.replay(`${id}:1`, ANN);
    await database.waitingForLocks(2);
    await first.query('commit');
    expect(await second).toEqual({ kind: 'not-failed', status: 'waiting' });
    expect(await third).toEqual({ kind: 'not-failed', status: 'waiting' });
    expect(await database.rows(id)).toMatchObject([{ cycle: 1, failure_history: [{ replayedBy: 'bob' }] }]);
    expect((await database.operator.audit()).items).toHaveLength(1);
  });

  test('raises the counter of its unit each time, so that the owner looks again each time', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    for (let times = 1; times <= 3; times++) {
      await database.operator.replay(await database.dead({ key: 'k' }), ANN);
      expect(await database.pokes()).toBe(times);
    }
  });

  test('wakes a worker that sleeps', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const id = await database.dead();
    const listener = await database.connect();
    let woken = 0;
    listener.on('notification', () => (woken += 1));
    await listener.query(`listen "${wakeChannel(database.schema)}"`);
    await database.pool.query(`insert into ${database.schema}.waiter (worker) values (gen_random_uuid())`);
    await database.operator.replay(id, ANN);
    await expect.poll(() => woken).toBe(1);
  });

  test('that is rolled back leaves nothing behind', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const id = await database.dead();
    const client = await database.connect();
    await client.query('begin');
    await postgresOperator({ pool: client, schema: database.schema }).replay(id, ANN);
    await client.query('rollback');
    expect(await database.rows(id)).toMatchObject([{ state: 2, cycle: 0 }]);
    expect((await database.operator.audit()).items).toEqual([]);
    expect(await database.pokes()).toBe(0);
  });

  test('answers with words for an unknown id, a malformed one, and what has not failed', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const replay = (id: string): Promise<unknown> => database.operator.replay(id, ANN);
    expect(await replay(NOBODY)).toEqual({ kind: 'not-found' });
    expect(await replay(`${NOBODY}:1`)).toEqual({ kind: 'not-found' });
    expect(await replay('7')).toMatchObject({ kind: 'bad-id', problem: expect.stringContaining('36 characters') });
    expect(await replay(await database.delivery())).toEqual({ kind: 'not-failed', status: 'ready' });
    expect(await replay(await database.delivery({ state: 'delivered' }))).toEqual({
      kind: 'not-failed',
      status: 'delivered',
    });
    expect(await replay(`${await database.dead()}:2`)).toEqual({ kind: 'not-found' });
  });

  test('a keyed message holds its key again; one without a key holds nothing', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const passed = await database.dead({ key: 'k', holds: false });
    const unkeyed = await database.dead();
    await database.operator.replay(passed, ANN);
    await database.operator.replay(unkeyed, ANN);
    expect(await database.rows(passed)).toMatchObject([{ holds: true }]);
    expect(await database.rows(unkeyed)).toMatchObject([{ holds: false }]);
  });
});

describe('a new generation', () => {
  test('moves a pinned delivery to the lane of that generation, and both units are told [S4.5]', async ({
    postgres,
  }) => {
    const database = await OperatorDatabase.open(postgres);
    await database.handler(1, 'mail', 'welcome', { generations: [7, 8] });
    const id = await database.dead({ generation: 7, key: 'k' });
    const unit = Number((await database.rows(id))[0]?.['unit']);
    await database.operator.replay(id, ANN, { generation: 8 });
    expect(await database.rows(id)).toMatchObject([{ generation: '8', unit: unit + 10 * 32 }]);
    expect(await database.sql(`select unit from $S.poke order by unit`)).toEqual([{ unit }, { unit: unit + 320 }]);
    expect((await database.operator.audit()).items).toMatchObject([
      { details: { generation: 8, generationBefore: 7 } },
    ]);
  });

  test('nobody has served yet leaves the delivery where it is adopted from, visibly [S4.5]', async ({ postgres }) => {
    const database = await OperatorDatabase.open(postgres);
    await database.handler(1, 'mail', 'welcome', { generations: [7] });
    const id = await database.dead({ generation: 7 });
    const unit = Number((await database.rows(id))[0]?.['unit']);
    await database.operator.replay(id, ANN, { generation: 9 });
    expect(await database.rows(id)).toMatchObject([{ generation: '9', unit: unit % 32 }]);
    expect(await database.operator.why(id)).toMatchObject({
      deliveries: [{ reason: { kind: 'generation-unserved', generation: 9 } }],
    });
  });

  test('is only written down where the handler is not pinned [S4.5]', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const id = await database.dead({ generation: 7 });
    const unit = (await database.rows(id))[0]?.['unit'];
    await database.operator.replay(id, ANN, { generation: 8 });
    expect(await database.rows(id)).toMatchObject([{ generation: '8', unit }]);
  });
});

describe('chosen handlers', () => {
  test('only the named one is replayed, by its name or with its service [S0.11]', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const id = await database.dead({ handler: 1 });
    await database.dead({ id, handler: 2 });
    expect(await database.operator.replay(id, ANN, { handlers: ['growth/score'] })).toEqual({
      kind: 'replayed',
      count: 1,
    });
    expect(await database.rows(id)).toMatchObject([{ state: 2 }, { state: 1 }]);
    expect(await database.operator.replay(id, ANN, { handlers: ['welcome'] })).toEqual({ kind: 'replayed', count: 1 });
  });

  test('a name nobody has, and one that two services have, are refused with what to write', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    await database.handler(3, 'growth', 'welcome');
    const id = await database.dead({ handler: 1 });
    expect(await database.operator.replay(id, ANN, { handlers: ['scores'] })).toEqual({
      kind: 'unknown-handler',
      name: 'scores',
      known: ['growth/score', 'growth/welcome', 'mail/welcome'],
    });
    expect(await database.operator.replay(id, ANN, { handlers: ['welcome'] })).toEqual({
      kind: 'ambiguous-handler',
      name: 'welcome',
      write: ['growth/welcome', 'mail/welcome'],
    });
  });

  test('one that succeeded is refused, and nothing else of the request is done either [S4.7]', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const id = await database.dead({ handler: 1 });
    await database.delivery({ id, handler: 2, state: 'delivered' });
    expect(await database.operator.replay(id, ANN, { handlers: ['welcome', 'score'] })).toEqual({
      kind: 'already-delivered',
      handlers: ['growth/score'],
    });
    expect(await database.rows(id)).toMatchObject([{ state: 2 }]);
  });

  test('rerun opens a new numbered run of a repeatable handler; the record of the first stays [S0.11]', async ({
    postgres,
  }) => {
    const database = await twoHandlers(postgres);
    const id = await database.delivery({ handler: 2, state: 'delivered', key: 'k', generation: 7 });
    const rerun = { handlers: ['score'], rerun: true };
    expect(await database.operator.replay(id, ANN, rerun)).toEqual({ kind: 'replayed', count: 1 });
    expect(await database.rows(id)).toMatchObject([
      { handler: 2, state: 0, rerun: 1, cycle: 0, key: 'k', generation: '7', idempotency_key: `key-of-${id}` },
    ]);
    expect(await database.operator.replay(id, ANN, rerun)).toEqual({ kind: 'not-failed', status: 'ready' });
    expect(await database.sql(`select status, rerun from $S.run_log order by rerun`)).toEqual([
      { status: 'delivered', rerun: 0 },
      { status: 'ready', rerun: 1 },
    ]);
    expect((await database.operator.audit()).items).toMatchObject([{ verb: 'rerun', details: { rerun: 1 } }]);
  });

  test('rerun of a handler that is not declared repeatable is refused [S0.11]', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const id = await database.delivery({ handler: 1, state: 'delivered' });
    expect(await database.operator.replay(id, ANN, { handlers: ['welcome'], rerun: true })).toEqual({
      kind: 'not-repeatable',
      handlers: ['mail/welcome'],
    });
    expect(await database.rows(id)).toEqual([]);
  });

  test('one that never had the message gets it, in the unit of its key [S0.11]', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const id = await database.delivery({
      handler: 1,
      state: 'delivered',
      key: 'k',
      generation: 7,
      payload: { total: 9 },
    });
    await database.delivery({ handler: 2, key: 'k' });
    const [expected] = await database.sql(`select unit from $S.delivery where handler = 2`);
    expect(await database.operator.replay(id, ANN, { handlers: ['score'] })).toEqual({ kind: 'replayed', count: 1 });
    expect(await database.rows(id)).toMatchObject([
      { handler: 2, state: 0, payload: { total: 9 }, rerun: 0, ...expected },
    ]);
    expect((await database.operator.audit()).items).toMatchObject([{ verb: 'deliver' }]);
    expect(await database.pokes(), 'its owner looks again').toBe(1);
  });

  test('one whose history of that time is no longer kept is taken for done, not for one that never had it [S4.7]', async ({
    postgres,
  }) => {
    const database = await twoHandlers(postgres);
    const id = await database.dead({ handler: 1 });
    await database.sql(`update $S.meta set forgotten_until = now() + interval '1 hour'`);
    expect(await database.operator.replay(id, ANN, { handlers: ['score'] })).toEqual({
      kind: 'already-delivered',
      handlers: ['growth/score'],
    });
    expect(await database.operator.replay(id, ANN, { handlers: ['score'], rerun: true })).toMatchObject({
      kind: 'replayed',
    });
    // A message that waits for any handler was handled by none.
    const waiting = await database.delivery({ handler: 0 });
    expect(await database.operator.replay(waiting, ANN, { handlers: ['score'] })).toMatchObject({ kind: 'replayed' });
  });

  test('a message that no handler took is given to the named one, once [S0.11]', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const id = await database.delivery({ handler: 0 });
    await database.operator.replay(id, ANN, { handlers: ['score'] });
    expect(await database.rows(id)).toMatchObject([{ handler: 2 }]);
  });

  test('a discarded delivery comes back with its history, and is no longer discarded', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const id = await database.dead();
    await database.operator.discard(id, { actor: 'bob', reason: 'by mistake' });
    expect(await database.operator.replay(id, ANN)).toEqual({ kind: 'not-failed', status: 'discarded' });
    expect(await database.operator.replay(id, ANN, { handlers: ['welcome'] })).toEqual({ kind: 'replayed', count: 1 });
    expect(await database.rows(id)).toMatchObject([
      { state: 0, cycle: 1, failure_history: [{ cycle: 0, attempts: 5, replayedBy: 'ann' }] },
    ]);
    expect(await database.operator.find(id)).toMatchObject({ message: { status: 'pending', deletedAt: undefined } });
    expect((await database.operator.deadLetters({ status: 'discarded' })).items).toEqual([]);
  });

  test('two callers at once open one rerun [S4.4]', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const id = await database.delivery({ handler: 2, state: 'delivered' });
    const first = await database.connect();
    await first.query('begin');
    const rerun = { handlers: ['score'], rerun: true };
    await postgresOperator({ pool: first, schema: database.schema }).replay(id, ANN, rerun);
    const second = database.operator.replay(id, ANN, rerun);
    await database.waitingForLocks(1);
    await first.query('commit');
    expect(await second).toEqual({ kind: 'not-failed', status: 'ready' });
    expect(await database.rows(id)).toHaveLength(1);
  });

  test('wrong options are refused before anything is asked', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const id = await database.dead();
    const { operator } = database;
    await expect(operator.replay(id, { actor: ' ' })).rejects.toThrow('by.actor');
    await expect(operator.replay(id, ANN, { generation: 1.5 })).rejects.toThrow('generation is 1.5');
    await expect(operator.replay(id, ANN, { rerun: true })).rejects.toThrow('name the handlers');
    await expect(operator.replay(id, ANN, { handlers: [] })).rejects.toThrow('at least one');
    await expect(operator.replay(`${id}:1`, ANN, { handlers: ['score'] })).rejects.toThrow("a dead letter's id");
  });
});

describe('replay of many', () => {
  test('takes what fits, the oldest failure first, up to the limit [S1.8] [S0.10]', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const dead = [];
    for (const ago of [30, 20, 10]) dead.push(await database.dead({ failedSecondsAgo: ago * 60 }));
    await database.dead({ handler: 2, failedSecondsAgo: 3600 });
    const since = new Date(Date.now() - 25 * 60_000);
    expect(await database.operator.replayWhere({ service: 'mail', since, limit: 1 }, ANN)).toEqual({
      kind: 'replayed',
      count: 1,
    });
    expect(await database.rows(dead[1] ?? '')).toMatchObject([{ state: 1 }]);
    expect(await database.operator.replayWhere({ service: 'mail' }, ANN, { generation: 3 })).toEqual({
      kind: 'replayed',
      count: 2,
    });
    expect(await database.operator.replayWhere({ service: 'mail' }, ANN)).toEqual({ kind: 'replayed', count: 0 });
    expect(await database.sql(`select count(*)::int as n from $S.delivery where state = 2`)).toEqual([{ n: 1 }]);
  });

  test('replayKey replays a key and its parked tail, due in their order; other keys and handlers stay [X.4]', async ({
    postgres,
  }) => {
    const database = await twoHandlers(postgres);
    const parked = { ...SMTP_ERROR, code: 'PARKED', kind: 'parked' };
    const first = await database.dead({ key: 'k' });
    const second = await database.dead({ key: 'k', error: parked, attempts: 0 });
    const third = await database.dead({ key: 'k', error: parked, attempts: 0 });
    await database.dead({ key: 'other' });
    await database.dead({ key: 'k', handler: 2 });
    expect(await database.operator.replayKey('welcome', 'k', ANN)).toEqual({ kind: 'replayed', count: 3 });
    expect(await database.sql(`select id from $S.delivery where state = 1 order by due_at`)).toEqual(
      [first, second, third].map((id) => ({ id })),
    );
    expect(await database.operator.replayKey('welcome', 'k', ANN)).toEqual({ kind: 'replayed', count: 0 });
    expect(await database.operator.replayKey('nobody', 'k', ANN)).toMatchObject({ kind: 'unknown-handler' });
  });
});
