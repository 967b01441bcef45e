import { expect, test } from 'vitest';
import { event } from '../../outbox/event.ts';
import { constant } from '../../retry/schedule.ts';
import { holdfast } from '../../service/holdfast.ts';
import { memoryStore } from '../memory-store.ts';
import { virtualTime } from '../virtual-time.ts';
import { drain } from './drain.ts';

const placed = event<{ orderId: string }>('order.placed', { key: ({ orderId }) => orderId });
const charged = event<{ orderId: string }>('order.charged');
const away = (): Error => Object.assign(new Error('the card service is away'), { code: 'ECONNREFUSED' });

function shop(store = memoryStore()) {
  const hf = holdfast({ service: 'orders', store });
  const send = async (orderId: string, deliverAt?: Date): Promise<void> => {
    const tx = store.begin();
    await hf.send(tx, placed, { orderId }, { deliverAt });
    tx.commit();
  };
  return { store, hf, send };
}

test('drain runs what is due and what that sends, and tells what happened [X.13]', async () => {
  const { store, hf, send } = shop();
  hf.on(
    placed,
    'charge',
    async ({ orderId }, ctx) => {
      if (ctx.attempt < 3) throw away();
      await ctx.commit((tx) => hf.send(tx, charged, { orderId }));
    },
    { policy: { schedule: constant(3_600_000), maxAttempts: 5 } },
  );
  hf.on(charged, 'thank', () => undefined);
  await send('ord_1');
  const { delivered, retried, dead, postponed } = await drain(hf);
  expect(delivered.map(({ handler, attempt, payload }) => [handler, attempt, payload])).toEqual([
    ['charge', 3, { orderId: 'ord_1' }],
    ['thank', 1, { orderId: 'ord_1' }],
  ]);
  expect(retried.map(({ attempt, error, delayMs }) => [attempt, error.code, delayMs])).toEqual([
    [1, 'ECONNREFUSED', 3_600_000],
    [2, 'ECONNREFUSED', 3_600_000],
  ]);
  expect([dead, postponed, store.deliveries()]).toEqual([[], [], []]);
  await send('ord_2');
  expect((await drain(hf, { handlers: ['charge'] })).delivered.map(({ handler }) => handler)).toEqual(['charge']);
});

test('drain tells dead letters, what is parked behind them, and leaves what is postponed or scheduled [X.13]', async () => {
  const { store, hf, send } = shop();
  hf.on(
    placed,
    'charge',
    ({ orderId }, ctx) => {
      if (orderId === 'later') ctx.postpone(60_000, 'the shop is closed');
      throw away();
    },
    { onDead: 'park', policy: { maxAttempts: 7, baseDelayMs: 3_600_000 } },
  );
  for (const orderId of ['ord_1', 'ord_1', 'later']) await send(orderId);
  await send('ord_9', new Date(Date.now() + 3_600_000));
  const { dead, parked, postponed, retried, delivered } = await drain(hf);
  expect(retried).toHaveLength(6);
  expect(dead.map(({ attempt, error, reason }) => [attempt, error.code, reason])).toEqual([
    [7, 'ECONNREFUSED', 'attempts'],
  ]);
  expect(parked.map(({ key }) => key)).toEqual(['ord_1']);
  expect(postponed.map(({ key, detail }) => [key, detail])).toEqual([['later', 'the shop is closed']]);
  expect(delivered).toEqual([]);
  expect(store.deliveries().map(({ key, state }) => [key, state])).toContainEqual(['ord_9', 'waiting']);
});

test('drain moves virtual time over the waits of a policy [X.13]', async () => {
  const time = virtualTime();
  const { hf, send, store } = shop(memoryStore({ effects: time }));
  hf.on(
    placed,
    'charge',
    (_, ctx) => {
      if (ctx.attempt < 3) throw away();
    },
    { policy: { schedule: constant(600_000), maxAttempts: 5 } },
  );
  await send('ord_1');
  const { retried } = await drain(hf, { time });
  expect(retried.map(({ delayMs }) => delayMs)).toEqual([600_000, 600_000]);
  expect(time.now().monoMs).toBeGreaterThanOrEqual(1_200_000);
  await send('ord_2', new Date(time.now().wallMs + 3_600_000));
  expect((await drain(hf, { time })).delivered).toEqual([]);
  await time.advance(3_600_000);
  await drain(hf, { time });
  expect(store.delivered()).toHaveLength(2);
});

test('drain tries each message once when told to leave retries, and gives up what has no end [X.13]', async () => {
  const { store, hf, send } = shop();
  // However soon it is due again.
  const failing = (): never => {
    throw away();
  };
  hf.on(placed, 'charge', failing, { policy: { baseDelayMs: 0, maxDelayMs: 0 } });
  await send('ord_1');
  expect((await drain(hf, { retries: 'leave' })).retried).toHaveLength(1);
  expect(store.deliveries().map(({ attempts, state }) => [attempts, state])).toEqual([[1, 'waiting']]);
  const endless = shop();
  endless.hf.on(placed, 'again', async ({ orderId }, ctx) =>
    ctx.commit((tx) => endless.hf.send(tx, placed, { orderId })),
  );
  await endless.send('ord_1');
  await expect(drain(endless.hf, { maxRuns: 20 })).rejects.toMatchObject({ code: 'DRAIN_ENDLESS' });
  await expect(drain({ ...hf })).rejects.toThrow('pass what holdfast() gave');
  await expect(drain(hf, { retries: 'never' as 'run' })).rejects.toThrow("write 'run' or 'leave'");
});

test('drain is held up by no breaker, however many messages fail [X.13]', async () => {
  const { hf, send } = shop();
  hf.on(
    placed,
    'charge',
    () => {
      throw away();
    },
    { policy: { maxAttempts: 2 } },
  );
  for (const n of Array(8).keys()) await send(`ord_${n}`);
  const { dead, postponed } = await drain(hf);
  expect([dead.length, postponed.length]).toEqual([8, 0]);
});
