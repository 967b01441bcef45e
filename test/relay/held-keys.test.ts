import { describe, expect } from 'vitest';
import { constant, event, outgoing, policy, TerminalHandlerError } from '../../src/index.ts';
import { needs } from '../support/needs.ts';
import { testService, type TestService } from './service.ts';

const test = needs('postgres');
const SLOW = { timeout: 300_000 };
const KEYS = 700;
const EACH = 8;

interface Order {
  readonly key: string;
  readonly n: number;
  readonly text: string;
}
const placed = event<Order>('order.placed', { key: ({ key }) => key });

/** More payload behind the first of each key than is kept in memory ahead. */
async function sendLarge({ hf, inTransaction }: TestService): Promise<void> {
  const text = 'x'.repeat(8_000);
  for (let at = 0; at < KEYS; at += 50) {
    const keys = Array.from({ length: 50 }, (_, n) => `key ${at + n}`);
    const orders = keys.flatMap((key) => Array.from({ length: EACH }, (_, n) => ({ key, n, text })));
    await inTransaction((tx) =>
      hf.sendAll(
        tx,
        orders.map((order) => outgoing(placed, order)),
      ),
    );
  }
}

describe('very many keys whose first message fails, with much behind each,', () => {
  test(
    'go on when it is tried again: what cannot run takes no room from what can [X.4]',
    SLOW,
    async ({ postgres }) => {
      const service = await testService(postgres);
      const order = new Map<string, number[]>();
      service.hf.on(
        placed,
        'flaky',
        ({ key, n }, ctx) => {
          if (n === 0 && ctx.attempt === 1) throw new Error('not yet');
          order.set(key, [...(order.get(key) ?? []), n]);
        },
        { policy: policy({ maxAttempts: 3, schedule: constant(3_000) }) },
      );
      await (await service.start()).stop();
      await sendLarge(service);
      await service.start();
      await expect.poll(() => service.column('select count(*)::int from $.delivered'), SLOW).toEqual([KEYS * EACH]);
      const expected = Array.from({ length: EACH }, (_, n) => n);
      expect([...order.values()].filter((numbers) => numbers.join() !== expected.join())).toEqual([]);
    },
  );

  test('and for good, do not keep others from their messages [X.4]', SLOW, async ({ postgres }) => {
    const service = await testService(postgres);
    const seen: string[] = [];
    service.hf.on(placed, 'picky', ({ key, n }) => {
      if (n === 0) throw new TerminalHandlerError('never');
      seen.push(key);
    });
    await (await service.start()).stop();
    await sendLarge(service);
    await service.start();
    await expect
      .poll(() => service.column('select count(*)::int from $.delivery where state = 2'), SLOW)
      .toEqual([KEYS]);
    await service.inTransaction((tx) => service.hf.send(tx, placed, { key: 'another', n: 1, text: '' }));
    await expect.poll(() => seen).toEqual(['another']);
  });
});
