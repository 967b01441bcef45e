import { expect } from 'vitest';
import { event } from '../../src/index.ts';
import type { Broker, Transport } from '../../src/transport/index.ts';
import { testService } from '../relay/service.ts';
import type { TestServer } from '../support/needs.ts';
import type { BreakableBroker } from './breakable-broker.ts';
import { consuming, message } from './broker-kit.ts';
import { numberIn } from './number-in.ts';

const placed = event<{ order: string; n: number }>('order.placed', { key: ({ order }) => order });

/** A service starts before its broker does: that is told, nothing is lost, and no attempt is counted. */
export async function startsLater(
  postgres: TestServer,
  broker: Pick<BreakableBroker, 'start'>,
  transport: Transport,
): Promise<void> {
  const here = await testService(postgres);
  const orders = here.another({ transport });
  const seen: number[] = [];
  orders.on(placed, 'book', ({ n }) => void seen.push(n));
  await here.start({ of: orders });
  await here.inTransaction(async (tx) => {
    for (const n of [1, 2, 3]) await orders.send(tx, placed, { order: 'a', n });
  });
  const told = (): string[] => [
    ...new Set(here.events.flatMap((one) => (one.kind === 'transport-failed' ? [one.during] : []))),
  ];
  await expect.poll(() => told().toSorted((a, b) => a.localeCompare(b))).toEqual(['consume', 'publish']);
  expect(await here.column('select attempts from $.delivery')).toEqual([0, 0, 0]);
  await broker.start();
  await expect.poll(() => seen).toEqual([1, 2, 3]);
}

/** Sends `total` messages, kills the broker in the middle of them and starts it again: each has one effect, keys keep their order. */
export async function isKilledInTheFlow(
  postgres: TestServer,
  broker: Pick<BreakableBroker, 'start' | 'kill'>,
  transport: () => Transport,
  total: number,
): Promise<void> {
  const here = await testService(postgres);
  const orders = here.another({ service: 'orders', transport: transport() });
  const mail = here.another({ service: 'mail', transport: transport() });
  await here.column('alter table $.effect add at bigserial');
  mail.on(placed, 'note', ({ order, n }, ctx) =>
    ctx.commit(async (tx) => {
      await tx.query(`insert into "${here.schema}".effect (id, n) values ($1, $2)`, [order, n]);
    }),
  );
  await here.start({ of: mail });
  await here.start({ of: orders });
  const send = async (from: number, to: number): Promise<void> => {
    await here.inTransaction(async (tx) => {
      for (let n = from; n < to; n++) await orders.send(tx, placed, { order: `k${n % 7}`, n });
    });
  };
  const third = total / 3;
  await send(0, third);
  await expect.poll(() => here.column('select count(*)::int > 20 from $.effect')).toEqual([true]);
  const sending = send(third, 2 * third);
  await broker.kill();
  await sending;
  await send(2 * third, total);
  await broker.start();
  await expect.poll(() => here.column('select count(*)::int from $.effect')).toEqual([total]);
  expect(await here.column('select count(distinct n)::int from $.effect')).toEqual([total]);
  expect(here.events.filter((one) => one.kind === 'transport-failed').length).toBeGreaterThan(0);
  const ofKey = (await here.column(`select n from $.effect where id = 'k3' order by at`)) as number[];
  expect(ofKey).toEqual(ofKey.toSorted((a, b) => a - b));
}

/** The broker hangs: every call ends with an error, the loss is told once, and all goes on when the broker does. */
export async function hangs(broker: Pick<BreakableBroker, 'hang' | 'goOn'>, open: () => Broker): Promise<void> {
  const publisher = open();
  const reading = open();
  const { stored, lost } = await consuming(reading);
  await publisher.publish([message(1)]);
  await expect.poll(() => stored.map(numberIn)).toEqual([1]);
  broker.hang();
  try {
    const opening = open();
    const errors = await Promise.all([
      failing(() => publisher.publish([message(2)])),
      failing(() => opening.publish([message(3)])),
      failing(() => consuming(opening)),
    ]);
    for (const error of errors) expect(error).toBeInstanceOf(Error);
    await expect.poll(() => lost.length).toBe(1);
  } finally {
    broker.goOn();
  }
  const again = await consuming(reading);
  await expect.poll(() => publisher.publish([message(4)]).catch(() => [])).toEqual([{ kind: 'published' }]);
  await expect.poll(() => again.stored.map(numberIn)).toContain(4);
  expect(lost).toHaveLength(1);
}

/** What it rejects with; what was on its way when the server was halted may still succeed. */
async function failing(work: () => Promise<unknown>): Promise<unknown> {
  try {
    for (;;) await work();
  } catch (error) {
    return error;
  }
}
