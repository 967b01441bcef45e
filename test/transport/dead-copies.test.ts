import { expect } from 'vitest';
import { event, TerminalHandlerError } from '../../src/index.ts';
import { postgresOperator } from '../../src/postgres/index.ts';
import { localBroker } from '../../src/testing/index.ts';
import { type OutboundMessage, type PublishResult, transportOf } from '../../src/transport/index.ts';
import { needs } from '../support/needs.ts';
import { testService } from '../relay/service.ts';

const test = needs('postgres');

const placed = event<{ order: string; n: number }>('order.placed', { key: ({ order }) => order });

test('a dead letter of a received message is copied to where the broker keeps such, with the reason, each time it dies [S0.9] [S1.7]', async ({
  postgres,
}) => {
  const here = await testService(postgres);
  const broker = localBroker();
  const orders = here.another({ transport: transportOf(broker) });
  orders.on(placed, 'book', ({ n }) => {
    if (n === 2) throw new TerminalHandlerError('there is no such account');
  });
  await here.start({ of: orders });
  await here.inTransaction(async (tx) => {
    for (const n of [1, 2]) await orders.send(tx, placed, { order: `o${n}`, n });
  });
  await expect.poll(() => broker.published('order.dlq').length).toBe(1);
  const [copy] = broker.published('order.dlq');
  expect(copy).toMatchObject({
    key: 'o2',
    attributes: { type: 'order.placed', source: 'orders' },
    headers: { 'dlq-reason': 'TerminalHandlerError', 'dlq-message': 'there is no such account', 'dlq-attempts': '1' },
  });
  expect(JSON.parse(Buffer.from(copy?.body ?? []).toString())).toEqual({ order: 'o2', n: 2 });
  await here.column(
    `select $.operator_replay(array_agg(id), array_agg(handler), null, 'test', null) from $.delivery where state = 2`,
  );
  await expect.poll(() => broker.published('order.dlq').length).toBe(2);
  expect(broker.published('order.dlq')[1]?.headers).toMatchObject({ 'dlq-cycle': '1' });
});

test('a copy that could not be made is made when the broker is there again, and the dead letter is there meanwhile [S0.9]', async ({
  postgres,
}) => {
  const here = await testService(postgres);
  const broker = localBroker();
  const orders = here.another({ transport: transportOf(broker) });
  orders.on(placed, 'book', () => {
    broker.isAway = true;
    throw new TerminalHandlerError('never');
  });
  await here.start({ of: orders });
  await here.inTransaction((tx) => orders.send(tx, placed, { order: 'a', n: 1 }));
  await expect
    .poll(() => here.events.some((one) => one.kind === 'transport-failed' && one.during === 'mirror'))
    .toBe(true);
  expect(await here.column(`select state from $.delivery where state = 2`)).toEqual([2]);
  broker.isAway = false;
  await expect.poll(() => broker.published('order.dlq').length).toBe(1);
});

test('the copy of a dead letter that is put back where it came from is a replay: one effect, and its key in order [S0.9] [S0.10]', async ({
  postgres,
}) => {
  const here = await testService(postgres);
  const broker = localBroker();
  const orders = here.another({ transport: transportOf(broker) });
  const mail = here.another({ service: 'mail', transport: transportOf(broker) });
  const seen: string[] = [];
  let isShut = true;
  orders.on(placed, 'book', ({ n }) => {
    if (isShut && n === 1) throw new TerminalHandlerError('shut');
    seen.push(`book ${n}`);
  });
  mail.on(placed, 'mail', ({ n }) => void seen.push(`mail ${n}`));
  await here.start({ of: orders });
  await here.start({ of: mail });
  await here.inTransaction(async (tx) => {
    for (const n of [1, 2]) await orders.send(tx, placed, { order: 'a', n });
  });
  await expect.poll(() => broker.published('order.dlq').length).toBe(1);
  const putBack = async (copy: number): Promise<unknown> =>
    broker.publish([{ ...(broker.published('order.dlq')[copy] as OutboundMessage), isDead: false }]);
  // It fails once more, which makes the next copy; then it is put back together with an old one.
  await putBack(0);
  await expect.poll(() => broker.published('order.dlq').length).toBe(2);
  expect(broker.published('order.dlq')[1]?.headers).toMatchObject({ 'dlq-cycle': '1' });
  isShut = false;
  await putBack(0);
  await putBack(1);
  await putBack(1);
  await expect.poll(() => seen.toSorted()).toEqual(['book 1', 'book 2', 'mail 1', 'mail 2']);
  expect(seen.filter((one) => one.startsWith('book'))).toEqual(['book 1', 'book 2']);
  const audited = `select actor || ' ' || verb || ' ' || (details ->> 'cycle') from $.audit order by 1`;
  expect(await here.column(audited)).toEqual(['broker replay 1', 'broker replay 2']);
  // When nothing of it is open any more, and nobody remembers that it came, it is still a copy and no message.
  await here.column(`delete from $.inbox`);
  await putBack(1);
  const told = (what: 'stored' | 'duplicates' | 'ignored'): number =>
    here.events.reduce((sum, one) => sum + (one.kind === 'received' ? one[what] : 0), 0);
  // Five copies were put back: each was known to one service, and none of the other's.
  await expect.poll(() => [told('stored'), told('duplicates'), told('ignored')]).toEqual([4, 5, 5]);
  expect(await here.column(`select id from $.inbox`)).toEqual([]);
  expect(seen).toHaveLength(4);
});

test('the copy of one that could not be read is a replay of it too, and makes no other dead letter [S0.9]', async ({
  postgres,
}) => {
  const here = await testService(postgres);
  const broker = localBroker();
  const orders = here.another({ transport: transportOf(broker) });
  orders.on(placed, 'book', () => undefined);
  await here.start({ of: orders });
  const attributes = { type: 'order.placed', id: '7', source: 'elsewhere' };
  const body = Buffer.from([0xff, 0xfe]);
  await broker.publish([{ type: 'order.placed', key: 'a', isDead: false, attributes, headers: {}, body }]);
  for (const cycle of [0, 1]) {
    await expect.poll(() => broker.published('order.dlq').length).toBe(cycle + 1);
    const copy = broker.published('order.dlq')[cycle] as OutboundMessage;
    expect(copy.headers).toMatchObject({ 'dlq-cycle': String(cycle), 'dlq-source': 'local:order@0' });
    await broker.publish([{ ...copy, isDead: false }]);
  }
  await expect.poll(() => broker.published('order.dlq').length).toBe(3);
  expect(await here.column(`select cycle from $.delivery`)).toEqual([2]);
});

test('copies that cannot be made, however many, hold up no others, and are all made once they can be [S0.9]', async ({
  postgres,
}) => {
  const here = await testService(postgres);
  const broker = localBroker();
  const paid = event<number>('invoice.paid');
  let isMissing = true;
  const refuse = (error: Error): PublishResult => ({ kind: 'failed', error });
  const orders = here.another({
    transport: transportOf({
      ...broker,
      publish: async (messages) => {
        const isRefused = ({ isDead, type }: OutboundMessage): boolean =>
          isMissing && isDead && type === 'invoice.paid';
        const results = (await broker.publish(messages.filter((one) => !isRefused(one)))).values();
        return messages.map((one) =>
          isRefused(one) ? refuse(new Error('no such topic')) : (results.next().value as PublishResult),
        );
      },
    }),
  });
  orders.on([placed, paid], 'book', () => {
    throw new TerminalHandlerError('never');
  });
  await here.start({ of: orders });
  await here.inTransaction(async (tx) => {
    for (let n = 0; n < 250; n++) await orders.send(tx, paid, n);
  });
  const deadLetters = `select count(*)::int from $.delivery where state = 2`;
  await expect.poll(() => here.column(deadLetters)).toEqual([250]);
  await here.inTransaction((tx) => orders.send(tx, placed, { order: 'a', n: 1 }));
  await expect.poll(() => broker.published('order.dlq').length).toBe(1);
  expect(broker.published('invoice.dlq')).toEqual([]);
  isMissing = false;
  await expect.poll(() => broker.published('invoice.dlq').length).toBe(250);
  const copied = `select count(*)::int from $.delivery where mirrored = cycle`;
  await expect.poll(() => here.column(copied)).toEqual([251]);
  expect([broker.published('invoice.dlq').length, broker.published('order.dlq').length]).toEqual([250, 1]);
});

test('dead letters that a broker keeps are taken in once, wait for an operator, and reach their handlers by a replay [S0.9]', async ({
  postgres,
}) => {
  const here = await testService(postgres);
  const broker = localBroker();
  const orders = here.another({ transport: transportOf(broker) });
  const seen: number[] = [];
  orders.on(placed, 'book', ({ n }) => void seen.push(n));
  await here.start({ of: orders });
  const attributes = { type: 'order.placed', id: '7', source: 'elsewhere' };
  const body = Buffer.from(JSON.stringify({ order: 'a', n: 7 }));
  await broker.publish([
    { type: 'order.placed', key: 'a', isDead: true, attributes, headers: { 'dlq-message': 'it was Tuesday' }, body },
    { type: 'order.placed', key: 'a', isDead: true, attributes, headers: { 'dlq-service': 'orders' }, body },
  ]);
  expect(await orders.importDead({ quietMs: 300 })).toEqual({ imported: 1, known: 0, own: 1 });
  const dead = `select error ->> 'message' from $.delivery where state = 2`;
  await expect.poll(() => here.column(dead)).toEqual([expect.stringContaining('it was Tuesday')]);
  expect(seen).toEqual([]);
  await here.column(
    `select $.operator_replay(array_agg(id), array_agg(handler), null, 'test', null) from $.delivery where state = 2`,
  );
  await expect.poll(() => seen).toEqual([7]);
});

test('an import from a broker that is away says so, and takes in nothing [S0.9]', async ({ postgres }) => {
  const here = await testService(postgres);
  const broker = localBroker();
  const orders = here.another({ transport: transportOf(broker) });
  orders.on(placed, 'book', () => undefined);
  broker.isAway = true;
  await expect(orders.importDead()).rejects.toMatchObject({ code: 'BROKER_AWAY', details: { transport: 'local' } });
});

test('a message can be sent to its broker once more by an operator, under the same id [S0.10]', async ({
  postgres,
}) => {
  const here = await testService(postgres);
  const broker = localBroker();
  const orders = here.another({ transport: transportOf(broker) });
  let calls = 0;
  orders.on(placed, 'book', () => void calls++);
  await here.start({ of: orders });
  const { id } = await here.inTransaction((tx) => orders.send(tx, placed, { order: 'a', n: 1 }));
  await expect.poll(() => calls).toBe(1);
  await expect.poll(() => here.column('select count(*)::int from $.delivery')).toEqual([0]);
  const operator = postgresOperator({ pool: here.pool, schema: here.schema });
  const answer = await operator.replay(id, { actor: 'ann' }, { handlers: ['to-local'], rerun: true });
  expect(answer).toMatchObject({ kind: 'replayed' });
  await expect.poll(() => broker.published('order').map(({ attributes }) => attributes['id'])).toEqual([id, id]);
  await expect.poll(() => here.column(`select times from $.inbox`)).toEqual([2]);
  expect(calls).toBe(1);
});
