import { AssertionError } from 'node:assert';
import { expect, test } from 'vitest';
import { event } from '../../outbox/event.ts';
import { holdfast } from '../../service/holdfast.ts';
import { memoryStore } from '../memory-store.ts';
import {
  assertDead,
  assertDelivered,
  assertNoSecondEffect,
  assertNothingSent,
  assertOrder,
  assertSent,
  sentBy,
} from './assert-sent.ts';
import { drain } from './drain.ts';

const placed = event<{ orderId: string; items: { sku: string; count: number }[] }>('order.placed', {
  key: ({ orderId }) => orderId,
});
const cancelled = event<{ orderId: string }>('order.cancelled');
const one = { orderId: 'ord_1', items: [{ sku: 'a', count: 1 }] };

function shop() {
  const store = memoryStore();
  const hf = holdfast({ service: 'orders', store });
  hf.on(
    placed,
    'charge',
    ({ items }) => {
      if (items.length === 0) throw Object.assign(new Error('nothing to charge'), { code: 'EMPTY' });
    },
    { policy: { maxAttempts: 1 } },
  );
  const send = async (payload: typeof one): Promise<void> => {
    const tx = store.begin();
    await hf.send(tx, placed, payload);
    tx.commit();
  };
  return { store, hf, send };
}

async function refusal(work: Promise<unknown> | (() => unknown)): Promise<AssertionError> {
  const error: unknown = await (typeof work === 'function' ? (async () => work())() : work).catch(
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof AssertionError)) throw new Error(`no refusal: ${String(error)}`);
  return error;
}

test('assertSent finds what was sent by a part of its payload, a function and a count [X.13]', async () => {
  const { store, send } = shop();
  await assertNothingSent(store);
  expect((await refusal(assertSent(store, placed))).message).toContain('Nothing was sent at all');
  await send(one);
  await send({ ...one, orderId: 'ord_2' });
  expect(await assertSent(store, placed, { orderId: 'ord_1' })).toMatchObject([{ key: 'ord_1', payload: one }]);
  await assertSent(store, placed, ({ items }) => items.length === 1, { count: 2 });
  await assertNothingSent(store, cancelled);
  await assertNothingSent(store, placed, { orderId: 'ord_3' });
  const none = await refusal(assertSent(store, placed, { orderId: 'ord_3' }));
  expect(none.message).toBe(
    `expected "order.placed" with { orderId: 'ord_3' } to be sent at least once, but it was never. Sent were:
  order.placed { orderId: 'ord_1', items: [ { sku: 'a', count: 1 } ] } (payload.orderId is 'ord_1' and not 'ord_3')
  order.placed { orderId: 'ord_2', items: [ { sku: 'a', count: 1 } ] } (payload.orderId is 'ord_2' and not 'ord_3')`,
  );
  expect(none.expected).toEqual([{ type: 'order.placed', payload: { orderId: 'ord_3' } }]);
  const more = await refusal(assertSent(store, placed, { items: [{ sku: 'a', count: 1 }] }, { count: 1 }));
  expect(more.message).toContain('to be sent once, but it was 2 times');
  expect((await refusal(assertSent(store, placed, { items: [] }))).message).toContain('has 1 items and not 0');
  expect((await refusal(assertNothingSent(store))).message).toContain('expected nothing to be sent, but found 2');
  expect((await refusal(assertNothingSent(store, placed, { orderId: 'ord_1' }))).message).toContain('but found 1');
});

test('what is rolled back was not sent, and sentBy tells what one act sent [X.13]', async () => {
  const { store, hf, send } = shop();
  await send(one);
  const tx = store.begin();
  const { sent } = await sentBy(store, () => hf.send(tx, cancelled, { orderId: 'ord_1' }));
  expect(sent).toEqual([]);
  tx.rollback();
  const { value, sent: second } = await sentBy(store, async () => {
    await send({ ...one, orderId: 'ord_2' });
    return 'placed';
  });
  expect([value, second.map(({ key }) => key)]).toEqual(['placed', ['ord_2']]);
});

test('assertDelivered and assertDead tell what became of a message, and why not what was expected [X.13]', async () => {
  const { store, hf, send } = shop();
  await send(one);
  await send({ orderId: 'ord_2', items: [] });
  const early = await refusal(assertDelivered(store, placed, { orderId: 'ord_1' }));
  expect(early.message).toContain('(nobody has it ready, tried never)');
  await drain(hf);
  await assertDelivered(store, placed, { orderId: 'ord_1' }, { handler: 'charge', count: 1 });
  await assertDead(store, placed, { orderId: 'ord_2' }, { code: 'EMPTY' });
  const dead = await refusal(assertDelivered(store, placed, { orderId: 'ord_2' }));
  expect(dead.message).toContain('(charge has it failed, tried once, last EMPTY: nothing to charge)');
  const other = await refusal(assertDead(store, placed, { orderId: 'ord_2' }, { code: 'FULL' }));
  expect(other.message).toContain('(charge failed with EMPTY, not FULL)');
  expect((await refusal(assertDead(store, placed, { orderId: 'ord_1' }))).message).toContain('has it delivered');
  const who = await refusal(assertDelivered(store, placed, { orderId: 'ord_1' }, { handler: 'ship' }));
  expect(who.message).toContain('(ship does not have it)');
});

test('assertOrder compares what was handled of a key, assertNoSecondEffect finds what happened twice [X.13]', async () => {
  const { store, hf, send } = shop();
  for (const count of [1, 2, 3]) await send({ orderId: 'ord_1', items: [{ sku: 'a', count }] });
  await send({ ...one, orderId: 'ord_2' });
  await drain(hf);
  const item = (count: number): object => ({ items: [{ sku: 'a', count }] });
  await assertOrder(store, 'ord_1', [item(1), item(2), item(3)]);
  const swapped = await refusal(assertOrder(store, 'ord_1', [item(1), item(3), item(2)]));
  expect(swapped.message).toContain('handled[1].items[0].count is 2 and not 3');
  expect((await refusal(assertOrder(store, 'ord_1', [item(1)]))).message).toContain('has 3 items and not 1');
  assertNoSecondEffect([{ id: 'a' }, { id: 'b' }], ({ id }) => id);
  const twice = await refusal(() => assertNoSecondEffect([{ id: 'a' }, { id: 'b' }, { id: 'a' }], ({ id }) => id));
  expect(twice.message).toBe(`expected each effect once, but 1 happened more often:\n  'a': { id: 'a' }, { id: 'a' }`);
  expect([twice.actual, twice.expected]).toEqual([{ a: 2 }, { a: 1 }]);
});
