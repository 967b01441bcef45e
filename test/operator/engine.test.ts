import { describe, expect, onTestFinished } from 'vitest';
import { event, type Holdfast, holdfast, policy, TerminalHandlerError } from '../../src/index.ts';
import { postgres } from '../../src/postgres/index.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { ANN, OperatorDatabase } from './operator-database.ts';

const test = needs('postgres');
const orderPlaced = event<{ orderId: string; n: number }>('order.placed', { key: (order) => order.orderId });

interface Shop {
  readonly database: OperatorDatabase;
  /** A service on this database. */
  readonly service: (name: string, generation?: number) => Shop['hf'];
  readonly hf: Holdfast<never>;
  /** Starts the handlers; stopped when the test ends. */
  readonly start: (hf?: Holdfast<never>) => Promise<void>;
  /** Sends order messages of one key, numbered in their order; gives the ids. */
  readonly send: (hf: Holdfast<never>, key: string, numbers: readonly number[]) => Promise<string[]>;
}

async function openShop(server: TestServer): Promise<Shop> {
  const database = await OperatorDatabase.open(server);
  const { pool, schema } = database;
  const service: Shop['service'] = (name, generation) => {
    const pinning = generation === undefined ? {} : { generation, pinned: true };
    return holdfast({ service: name, store: postgres({ pool, schema }), ...pinning }) as unknown as Holdfast<never>;
  };
  const hf = service('mail');
  return {
    database,
    service,
    hf,
    start: async (of = hf) => {
      const running = await of.start({ pollMs: 20 });
      onTestFinished(() => running.stop());
    },
    send: async (of, orderId, numbers) => {
      const client = await pool.connect();
      try {
        await client.query('begin');
        const ids: string[] = [];
        for (const n of numbers) ids.push((await of.send(client as never, orderPlaced, { orderId, n })).id);
        await client.query('commit');
        return ids;
      } finally {
        client.release();
      }
    },
  };
}

async function until(database: OperatorDatabase, id: string, status: string): Promise<void> {
  const read = async (): Promise<unknown> => {
    const found = await database.operator.find(id);
    return found.kind === 'found' ? found.message.status : found.kind;
  };
  await expect.poll(read, { interval: 20 }).toBe(status);
}

describe('with the engine', () => {
  test('a dead letter that is replayed runs again with the same id and idempotency key, and its key goes on in order [S4.4] [X.4]', async ({
    postgres: server,
  }) => {
    const { database, hf, start, send } = await openShop(server);
    let isBroken = true;
    const runs: { n: number; attempt: number; idempotencyKey: string }[] = [];
    hf.on(orderPlaced, 'welcome', (order, ctx) => {
      runs.push({ n: order.n, attempt: ctx.attempt, idempotencyKey: ctx.idempotencyKey });
      if (isBroken && order.n === 1) throw new TerminalHandlerError('no such address');
    });
    await start();
    const [first = '', second = '', third = ''] = await send(hf, 'k', [1, 2, 3]);
    await until(database, first, 'failed');
    expect(await database.operator.why(second)).toMatchObject({
      deliveries: [{ reason: { kind: 'behind', messageId: first, state: 'failed' } }],
    });
    expect((await database.operator.heldKeys()).items).toMatchObject([{ key: 'k', behind: 2, failed: 1 }]);
    isBroken = false;
    expect(await database.operator.replay(first, ANN)).toEqual({ kind: 'replayed', count: 1 });
    for (const id of [first, second, third]) await until(database, id, 'delivered');
    expect(runs.map(({ n, attempt }) => [n, attempt])).toEqual([
      [1, 1],
      [1, 1],
      [2, 1],
      [3, 1],
    ]);
    expect(runs[0]?.idempotencyKey).toBe(runs[1]?.idempotencyKey);
    expect((await database.operator.deadLetters({ status: 'replayed' })).items).toMatchObject([
      { messageId: first, error: { name: 'TerminalHandlerError', message: 'no such address' } },
    ]);
  });

  test('a discarded dead letter lets its key go on [X.4]', async ({ postgres: server }) => {
    const { database, hf, start, send } = await openShop(server);
    const done: number[] = [];
    hf.on(orderPlaced, 'welcome', (order) => {
      if (order.n === 1) throw new TerminalHandlerError('poison');
      done.push(order.n);
    });
    await start();
    const [first = '', second = ''] = await send(hf, 'k', [1, 2]);
    await until(database, first, 'failed');
    await database.operator.discard(`${first}:1`, ANN);
    await until(database, second, 'delivered');
    expect(done).toEqual([2]);
  });

  test('a parked tail is replayed with its head, in the order it was sent [X.4]', async ({ postgres: server }) => {
    const { database, hf, start, send } = await openShop(server);
    let isBroken = true;
    const done: number[] = [];
    const handle = ({ n }: { n: number }): void => {
      if (isBroken) throw new TerminalHandlerError('not today');
      done.push(n);
    };
    hf.on(orderPlaced, 'welcome', handle, { onDead: 'park' });
    await start();
    const numbers = Array.from({ length: 20 }, (_, n) => n);
    const ids = await send(hf, 'k', numbers);
    for (const id of ids) await until(database, id, 'failed');
    expect((await database.operator.deadLetters({ errorCode: 'PARKED' })).items).toHaveLength(19);
    expect((await database.operator.heldKeys()).items).toMatchObject([{ key: 'k', behind: 19, failed: 20 }]);
    isBroken = false;
    expect(await database.operator.replayKey('welcome', 'k', ANN)).toEqual({ kind: 'replayed', count: 20 });
    for (const id of ids) await until(database, id, 'delivered');
    expect(done).toEqual(numbers);
  });

  test('an edited payload is what the handler gets, with another idempotency key [S4.4]', async ({
    postgres: server,
  }) => {
    const { database, hf, start, send } = await openShop(server);
    const runs: { n: number; idempotencyKey: string }[] = [];
    hf.on(orderPlaced, 'welcome', (order, ctx) => {
      runs.push({ n: order.n, idempotencyKey: ctx.idempotencyKey });
      if (order.n < 0) throw new TerminalHandlerError('a negative number');
    });
    await start();
    const [id = ''] = await send(hf, 'k', [-1]);
    await until(database, id, 'failed');
    expect(await database.operator.edit(id, { orderId: 'k', n: 1 }, ANN)).toMatchObject({ kind: 'edited', version: 1 });
    await until(database, id, 'delivered');
    expect(runs.map(({ n }) => n)).toEqual([-1, 1]);
    expect(runs[0]?.idempotencyKey).not.toBe(runs[1]?.idempotencyKey);
    expect(await database.operator.edit(id, {}, ANN)).toMatchObject({ kind: 'already-delivered' });
  });

  test('a rerun of a repeatable handler runs once more, under another idempotency key; the other handler does not [S0.11]', async ({
    postgres: server,
  }) => {
    const { database, hf, start, send } = await openShop(server);
    const keys: string[] = [];
    let mails = 0;
    hf.on(orderPlaced, 'score', (_order, ctx) => keys.push(ctx.idempotencyKey), { repeatable: true });
    hf.on(orderPlaced, 'welcome', () => (mails += 1));
    await start();
    const [id = ''] = await send(hf, 'k', [1]);
    await until(database, id, 'delivered');
    expect(await database.operator.replay(id, ANN, { handlers: ['welcome'], rerun: true })).toMatchObject({
      kind: 'not-repeatable',
    });
    expect(await database.operator.replay(id, ANN, { handlers: ['score'], rerun: true })).toEqual({
      kind: 'replayed',
      count: 1,
    });
    await until(database, id, 'delivered');
    await expect.poll(() => keys.length).toBe(2);
    expect(new Set(keys).size).toBe(2);
    expect(mails).toBe(1);
  });

  test('a message of a generation nobody serves any more runs after it is replayed into the new one [S4.5]', async ({
    postgres: server,
  }) => {
    const { database, service, start, send } = await openShop(server);
    const old = service('mail', 7);
    old.on(orderPlaced, 'welcome', () => {
      throw new TerminalHandlerError('the old code cannot');
    });
    const running = await old.start({ pollMs: 20 });
    const [id = ''] = await send(old, 'k', [1]);
    await until(database, id, 'failed');
    await running.stop();
    const young = service('mail', 8);
    const generations: unknown[] = [];
    young.on(orderPlaced, 'welcome', (_order, ctx) => generations.push(ctx.generation));
    await start(young);
    await database.sql(`select $S.outbox_replay($1, 8, 'sql-direct')`, [id]);
    await until(database, id, 'delivered');
    expect(generations).toEqual([8]);
  });

  test('a run that failed has its beginning and its end in the run log, also one that is tried again later [S0.11]', async ({
    postgres: server,
  }) => {
    const { database, hf, start, send } = await openShop(server);
    hf.on(
      orderPlaced,
      'mail',
      ({ n }) => {
        throw n === 1 ? new TerminalHandlerError('no') : new Error('later');
      },
      { onDead: 'pass', policy: { baseDelayMs: 3_600_000, maxDelayMs: 3_600_000, jitter: false } },
    );
    await start();
    const [dead = '', waiting = ''] = await send(hf, 'a', [1, 2]);
    await until(database, dead, 'failed');
    const logOf = (id: string): Promise<readonly unknown[]> =>
      database.sql(
        `select status, attempt, started_at <= clock_timestamp() as began, completed_at >= started_at as ended
         from $S.run_log where event_id = $1`,
        [id],
      );
    expect(await logOf(dead)).toEqual([{ status: 'failed', attempt: 1, began: true, ended: true }]);
    await expect.poll(() => logOf(waiting)).toEqual([{ status: 'waiting', attempt: 1, began: true, ended: null }]);
  });

  test('a paused handler starts nothing until it is resumed; the others of the message do', async ({
    postgres: server,
  }) => {
    const { database, hf, start, send } = await openShop(server);
    const runs: string[] = [];
    hf.on(orderPlaced, 'welcome', () => runs.push('welcome'));
    hf.on(orderPlaced, 'receipt', () => runs.push('receipt'));
    await (await hf.start()).stop();
    await database.operator.pause('welcome', ANN);
    await start();
    const [id = ''] = await send(hf, 'k', [1]);
    const reasons = async (): Promise<unknown> => {
      const answer = await database.operator.why(id);
      return (
        answer.kind === 'why' && answer.deliveries.map(({ handler, reason }) => `${handler}: ${reason.kind}`).toSorted()
      );
    };
    await expect.poll(reasons).toEqual(['receipt: delivered', 'welcome: handler-paused']);
    expect(runs).toEqual(['receipt']);
    await database.operator.resume('welcome', ANN);
    await until(database, id, 'delivered');
  });

  test('a message that waits for its retry has its plan, from the state the engine stored [X.6]', async ({
    postgres: server,
  }) => {
    const { database, hf, start, send } = await openShop(server);
    const hourly = policy({ maxAttempts: 3, baseDelayMs: 3_600_000, maxDelayMs: 3_600_000, jitter: false });
    const fail = (): never => {
      throw new Error('not yet');
    };
    hf.on(orderPlaced, 'welcome', fail, { policy: hourly });
    await start();
    const [id = ''] = await send(hf, 'k', [1]);
    const attempts = async (): Promise<unknown> => (await database.rows(id))[0]?.['attempts'];
    await expect.poll(attempts).toBe(1);
    const forecast = await database.operator.forecast(id, ({ name }) => (name === 'welcome' ? hourly : undefined));
    if (forecast.kind !== 'forecast') throw new Error(forecast.kind);
    const dueAt = (await database.rows(id))[0]?.['due_at'] as Date;
    const later = new Date(dueAt.getTime() + 3_600_000);
    expect(forecast.deliveries).toMatchObject([
      {
        handler: 'welcome',
        status: 'waiting',
        attempts: [
          { attempt: 2, earliest: dueAt, latest: dueAt },
          { attempt: 3, earliest: later, latest: later },
        ],
        end: 'attempts',
      },
    ]);
  });
});
