import { expect, test } from 'vitest';
import { event, holdfast } from '../index.ts';
import { localBroker, memoryStore } from '../testing/index.ts';
import { transportOf } from '../transport/index.ts';

const HOUR_MS = 3_600_000;

test('a service that receives is refused an inbox that forgets before its retries and its broker are over [X.16]', async () => {
  const service = (transport = true): ReturnType<typeof holdfast> => {
    const hf = holdfast({
      service: 'orders',
      store: memoryStore(),
      ...(transport && { transport: transportOf(localBroker()) }),
    });
    hf.on(event('order.placed'), 'slow', () => undefined, {
      policy: { maxAttempts: 3, baseDelayMs: HOUR_MS, maxDelayMs: 2 * HOUR_MS, jitter: 'none' },
    });
    hf.on(event('order.shipped'), 'endless', () => undefined, { policy: { maxAttempts: Infinity } });
    return hf;
  };
  await expect(service().start({ inboxMs: 2 * HOUR_MS })).rejects.toThrow(
    `inboxMs is ${2 * HOUR_MS}; write at least ${3 * HOUR_MS}: "slow" may be tried for ${3 * HOUR_MS} ms, and it must be known`,
  );
  await expect(service().start({ brokerKeepsMs: 7 * 24 * HOUR_MS })).rejects.toThrow(
    `and brokers keep a message for ${7 * 24 * HOUR_MS} ms`,
  );
  for (const [hf, options] of [
    [service(), { inboxMs: 3 * HOUR_MS }],
    [service(), { inboxMs: 3 * HOUR_MS + 5, brokerKeepsMs: 5 }],
    // Nothing comes to it from elsewhere.
    [service(false), { inboxMs: 2 * HOUR_MS }],
  ] as const) {
    await (await hf.start(options)).stop();
  }
});
