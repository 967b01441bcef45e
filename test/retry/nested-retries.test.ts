import { expect, test } from 'vitest';
import { llm, type LlmOptions, serviceClient } from '../../src/http/index.ts';
import { event } from '../../src/outbox/event.ts';
import { holdfast } from '../../src/service/holdfast.ts';
import { drain, memoryStore } from '../../src/testing/index.ts';
import { insideHandler } from '../../src/retry/handler-scope.ts';
import { withRetry } from '../../src/retry/with-retry.ts';

const placed = event('order.placed');
const AT_ONCE = { maxAttempts: 3, baseDelayMs: 0, maxDelayMs: 0 };

/** How many calls a message that never succeeds makes in all, by this call. */
async function callsOf(
  call: (down: () => Promise<never>) => Promise<unknown>,
  register: 'on' | 'project' = 'on',
): Promise<number> {
  const store = memoryStore();
  const hf = holdfast({ service: 'orders', store });
  let calls = 0;
  const down = async (): Promise<never> => {
    calls += 1;
    throw Object.assign(new Error('down'), { status: 503 });
  };
  hf[register](placed, 'charge', () => call(down));
  const tx = store.begin();
  await hf.send(tx, placed, {});
  tx.commit();
  expect((await drain(hf)).dead).toHaveLength(1);
  return calls;
}

test('retries inside a handler do not multiply its attempts, unless they are given a policy [S4.2] [S0.1]', async () => {
  expect(await callsOf((down) => withRetry('charge', down))).toBe(5);
  expect(await callsOf((down) => withRetry('charge', down, { policy: AT_ONCE }))).toBe(15);
  const url = { baseUrl: 'http://127.0.0.1:1' };
  const get = (options: Parameters<typeof serviceClient>[0]) => (down: () => Promise<never>) =>
    serviceClient({ ...options, fetch: down }).request({ operation: 'charge', path: '/charge' });
  expect(await callsOf(get(url))).toBe(5);
  expect(await callsOf(get({ ...url, policy: AT_ONCE }))).toBe(15);
  const chat = (options: LlmOptions) => (down: () => Promise<never>) =>
    llm({ ...options, fetch: down }).chat({ model: 'm', messages: [] });
  expect(await callsOf(chat(url))).toBe(5);
  expect(await callsOf(chat({ ...url, policy: AT_ONCE }))).toBe(15);
});

test('retries inside a projection do not multiply its attempts [S4.2] [S0.1]', async () => {
  expect(await callsOf((down) => withRetry('charge', down), 'project')).toBe(5);
});

test('what a handler left behind retries as outside once it has ended [S0.1]', async () => {
  const run = { isOver: false };
  const waits = Promise.withResolvers<void>();
  let calls = 0;
  const down = (): never => {
    calls += 1;
    throw Object.assign(new Error('down'), { status: 503 });
  };
  const left = insideHandler(run, async () => {
    await waits.promise;
    await withRetry('late', down, { effects: undefined }).catch(() => undefined);
  });
  run.isOver = true;
  waits.resolve();
  await left;
  expect(calls).toBe(3);
});
