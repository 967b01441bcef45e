import { expect } from 'vitest';
import { event, TerminalHandlerError } from '../../src/index.ts';
import { postgresOperator } from '../../src/postgres/index.ts';
import { type Broker, type OutboundMessage, transportOf } from '../../src/transport/index.ts';
import type { TestServer } from '../support/needs.ts';
import { testService } from '../relay/service.ts';
import { numberIn } from './number-in.ts';

/** A broker with retries of its own, as a test needs it. */
export interface NativeBroker {
  readonly open: (retryDelaysMs: readonly number[]) => Broker;
  /** Loses what waits so long. */
  readonly purge: (delayMs: number) => Promise<void>;
}

const placed = event<{ order: string; n: number }>('order.placed', { key: ({ order }) => order });

type TestService = Awaited<ReturnType<typeof testService>>;
type Run = (n: number, runs: number) => void;

/** A service whose handler is tried once in each round, notes what it is given and makes one effect where `run` does not throw. */
async function service(
  postgres: TestServer,
  broker: Broker,
  run: Run,
): Promise<{
  readonly here: TestService;
  readonly runs: readonly number[];
  readonly send: (order: string, ...numbers: readonly number[]) => Promise<readonly string[]>;
  readonly effects: () => Promise<unknown[]>;
}> {
  const here = await testService(postgres);
  const orders = here.another({ transport: transportOf(broker) });
  const runs: number[] = [];
  const handle: Parameters<typeof orders.on<typeof placed>>[2] = async ({ n }, ctx) => {
    runs.push(n);
    run(n, runs.filter((one) => one === n).length);
    await ctx.commit(async (tx) => void (await tx.query(`insert into "${here.schema}".effect values ('-', $1)`, [n])));
  };
  orders.on(placed, 'book', handle, { policy: { maxAttempts: 1 } });
  await here.start({ of: orders });
  const send = (order: string, ...numbers: readonly number[]): Promise<readonly string[]> =>
    here.inTransaction(async (tx) => {
      const ids: string[] = [];
      for (const n of numbers) ids.push((await orders.send(tx, placed, { order, n })).id);
      return ids;
    });
  return { here, runs, send, effects: () => here.column(`select n from $.effect order by xmin::text::bigint`) };
}

/** The first of a key fails twice, and each copy is there twice. */
export async function triesAgain(postgres: TestServer, { open }: NativeBroker): Promise<void> {
  const broker = alsoWriting(open([100, 200]), (copies) => copies);
  const { here, runs, send, effects } = await service(postgres, broker, (n, count) => {
    if (n === 1 && count < 3) throw new Error('not yet');
  });
  await send('a', 1, 2);
  await expect.poll(effects).toEqual([1, 2]);
  // Two rounds, and each copy twice.
  await expect.poll(() => cameBack(here)).toBeGreaterThanOrEqual(4);
  expect(runs).toEqual([1, 1, 1, 2]);
  expect(await effects()).toEqual([1, 2]);
  const audited = `select actor || ' ' || verb || ' ' || (details ->> 'cycle') from $.audit order by 1`;
  expect(await here.column(audited)).toEqual(['broker replay 1', 'broker replay 2']);
}

/** What waits at the broker is lost. */
export async function losesNothing(postgres: TestServer, { open, purge }: NativeBroker): Promise<void> {
  const { here, runs, send, effects } = await service(postgres, open([600_000]), (n, count) => {
    if (n === 1 && count < 2) throw new Error('not yet');
  });
  const [id = ''] = await send('a', 1, 2);
  await expect.poll(() => here.column(`select n.mirrored from $.delivery n where state = 2`)).toEqual([0]);
  await purge(600_000);
  await send('b', 3);
  await expect.poll(effects).toEqual([3]);
  expect(await here.column(`select state from $.delivery order by seq`)).toEqual([2, 0]);
  const operator = postgresOperator({ pool: here.pool, schema: here.schema });
  expect(await operator.replay(id, { actor: 'ann' })).toMatchObject({ kind: 'replayed' });
  await expect.poll(effects).toEqual([3, 1, 2]);
  expect(runs).toEqual([1, 3, 1, 2]);
}

/** One fails in every round; one fails for good. Both end as dead letters of the broker, and the first holds its key, whatever comes. */
export async function endsDead(postgres: TestServer, { open }: NativeBroker): Promise<void> {
  // The copy of the first round comes again when that one is over.
  const broker = alsoWriting(open([50]), (_, earlier) => earlier);
  const { here, runs, send } = await service(postgres, broker, (n) => {
    if (n === 3) throw new TerminalHandlerError('there is no such account');
    throw new Error('never');
  });
  await send('a', 1, 2);
  await send('b', 3);
  const kept: string[] = [];
  const consumption = await broker.consume({
    group: 'looker',
    types: ['order.placed'],
    isDead: true,
    onBatch: async (batch) => {
      for (const copy of batch)
        kept.push(`${numberIn(copy)} ${copy.headers['dlq-cycle']} ${copy.headers['dlq-final'] ?? ''}`);
    },
    onPlace: () => undefined,
    onLost: () => undefined,
  });
  await expect.poll(() => [...new Set(kept)].toSorted()).toEqual(['1 1 ', '3 0 true']);
  await consumption.stop();
  await expect.poll(() => cameBack(here)).toBeGreaterThanOrEqual(2);
  expect(runs.toSorted((a, b) => a - b)).toEqual([1, 1, 3]);
  const rows = `select concat_ws(' ', payload::json ->> 'n', state, cycle) from $.delivery d order by 1`;
  expect(await here.column(rows)).toEqual(['1 2 1', '2 0 0', '3 2 0']);
}

/** A broker at which, whenever copies of dead letters are made, others of them are written as well. */
function alsoWriting(
  broker: Broker,
  others: (copies: readonly OutboundMessage[], earlier: readonly OutboundMessage[]) => readonly OutboundMessage[],
): Broker {
  const made: OutboundMessage[] = [];
  return {
    name: broker.name,
    keepsOrder: broker.keepsOrder,
    publish: async (messages) => {
      const copies = messages.filter(({ isDead }) => isDead);
      const ids = new Set(copies.map(idOf));
      const also = others(
        copies,
        made.filter((one) => ids.has(idOf(one))),
      );
      made.push(...copies);
      if (copies.length > 0 && also.length > 0) await broker.publish(also);
      return broker.publish(messages);
    },
    consume: (request) => broker.consume(request),
    close: () => broker.close(),
  };
}

const idOf = ({ attributes }: OutboundMessage): string | undefined => attributes['id'];

/** How many copies have come back. */
function cameBack({ events }: TestService): number {
  return events.reduce((sum, one) => sum + (one.kind === 'received' ? one.duplicates : 0), 0);
}
