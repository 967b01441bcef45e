import { expect, test } from 'vitest';
import * as v from 'valibot';
import { event } from '../../outbox/event.ts';
import { steps } from '../../retry/schedule.ts';
import { TerminalHandlerError } from '../../retry/terminal-handler-error.ts';
import { holdfast } from '../../service/holdfast.ts';
import { memoryStore } from '../memory-store.ts';
import { tryHandler } from './try-handler.ts';

const Order = v.object({ orderId: v.string(), at: v.pipe(v.string(), v.toDate()) });
const placed = event('order.placed', { schema: Order, key: ({ orderId }) => orderId });
const order = { orderId: 'ord_1', at: '2026-01-01T00:00:00.000Z' };

test('a handler is tried alone, with the context of the attempt that is asked for [X.13]', async () => {
  const hf = holdfast({ service: 'orders', store: memoryStore() });
  const seen: unknown[] = [];
  hf.on(placed, 'charge', ({ at }, { attempt, key, replays, handler, headers, signal, source, idempotencyKey, id }) => {
    seen.push([at.getTime(), attempt, key, replays, handler, headers, signal.aborted, source]);
    expect(idempotencyKey).toBe(`${id}:charge`);
  });
  const signal = AbortSignal.abort();
  const options = { attempt: 3, replays: 1, headers: { tenant: 'a' }, signal };
  expect(await tryHandler(hf, 'charge', placed, order, options)).toEqual({ kind: 'done' });
  expect(seen).toEqual([[Date.UTC(2026, 0, 1), 3, 'ord_1', 1, 'charge', { tenant: 'a' }, true, 'orders']]);
});

test('what a tried handler commits is in the transaction of the test [X.13]', async () => {
  const store = memoryStore();
  const hf = holdfast({ service: 'orders', store });
  hf.on(placed, 'charge', ({ orderId }, ctx) => ctx.commit(async (tx) => tx.record(`charged ${orderId}`)));
  hf.project(placed, 'count', async ({ orderId }, tx) => tx.record(`counted ${orderId}`));
  hf.projectAll(placed, 'list', async (batch, tx) => batch.forEach(({ payload }) => tx.record(payload.orderId)));
  const tx = store.begin();
  for (const handler of ['charge', 'count', 'list'])
    expect(await tryHandler(hf, handler, placed, order, { tx })).toEqual({ kind: 'committed' });
  expect(store.recorded()).toEqual([]);
  tx.commit();
  expect(store.recorded()).toEqual(['charged ord_1', 'counted ord_1', 'ord_1']);
  const without = await tryHandler(hf, 'charge', placed, order);
  expect(without).toMatchObject({ kind: 'failed', error: { code: 'INVALID_OPTIONS' } });
});

test('what a tried handler throws is judged as the engine would judge it [X.13]', async () => {
  const hf = holdfast({ service: 'orders', store: memoryStore() });
  hf.on(
    placed,
    'charge',
    (_, ctx) => {
      if (ctx.attempt === 1) ctx.postpone(5_000, 'the shop is closed');
      if (ctx.attempt === 9) throw new TerminalHandlerError('no such card');
      throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' });
    },
    { policy: { maxAttempts: 4, schedule: steps([1_000, 2_000, 4_000]) } },
  );
  const next = async (attempt: number): Promise<unknown> => {
    const outcome = await tryHandler(hf, 'charge', placed, order, { attempt });
    return outcome.kind === 'failed' ? outcome.next : outcome;
  };
  expect(await next(1)).toEqual({ kind: 'postponed', delayMs: 5_000, reason: 'the shop is closed' });
  expect(await next(2)).toEqual({ kind: 'retry', delayMs: 2_000 });
  expect(await next(4)).toMatchObject({ kind: 'dead', reason: 'attempts' });
  expect(await next(9)).toMatchObject({ kind: 'dead' });
  const wrong = { ...order, at: 5 as unknown as string };
  await expect(tryHandler(hf, 'charge', placed, wrong)).rejects.toMatchObject({ code: 'PAYLOAD_INVALID' });
  await expect(tryHandler(hf, 'chrage', placed, order)).rejects.toThrow('write one that is registered: charge');
});
