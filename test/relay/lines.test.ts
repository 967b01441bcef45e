import { describe, expect } from 'vitest';
import { constant, event, type Lines, policy } from '../../src/index.ts';
import { postgresOperator } from '../../src/postgres/index.ts';
import { needs } from '../support/needs.ts';
import { testService, type TestService } from './service.ts';

const test = needs('postgres');
const called = event<{ key: string; n: number }>('hook.called', { key: ({ key }) => key });
const AT_ONCE = policy({ maxAttempts: 3, schedule: constant(1) });

/** Lines whose widths are set by the test. */
function settableLines(
  widths: Record<string, number>,
  retryHolds = true,
): Lines & { set(key: string, n: number): void } {
  const listeners = new Set<(key: string) => void>();
  return {
    width: (key) => widths[key] ?? 1,
    retryHolds: () => retryHolds,
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    set: (key, n) => {
      widths[key] = n;
      for (const listener of listeners) listener(key);
    },
  };
}

async function send(service: TestService, key: string, numbers: readonly number[]): Promise<void> {
  await service.inTransaction(async (tx) => {
    for (const n of numbers) await service.hf.send(tx, called, { key, n });
  });
}

const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i + 1);

describe('lines', () => {
  test('run as many of a key at once as it is wide and not one more, and stand still at width 0 [X.8]', async ({
    postgres,
  }) => {
    const service = await testService(postgres);
    const lines = settableLines({ wide: 4, shut: 0 });
    const running: Record<string, number> = {};
    const most: Record<string, number> = {};
    const seen: string[] = [];
    const gate = Promise.withResolvers<void>();
    const caller = async ({ key, n }: { key: string; n: number }): Promise<void> => {
      running[key] = (running[key] ?? 0) + 1;
      most[key] = Math.max(most[key] ?? 0, running[key]);
      await gate.promise;
      running[key] -= 1;
      seen.push(`${key}${n}`);
    };
    service.hf.on(called, 'caller', caller, { lines, concurrency: 20 });
    await send(service, 'wide', upTo(600));
    await send(service, 'narrow', upTo(3));
    await send(service, 'shut', upTo(50));
    const relay = await service.start();
    await expect.poll(() => running).toEqual({ wide: 4, narrow: 1 });
    gate.resolve();
    await expect.poll(() => seen.length).toBe(603);
    await relay.whenIdle();
    expect(most).toEqual({ wide: 4, narrow: 1 });
    expect(seen.filter((one) => one.startsWith('narrow'))).toEqual(['narrow1', 'narrow2', 'narrow3']);
    lines.set('shut', 1);
    await expect.poll(() => seen.slice(603)).toEqual(upTo(50).map((n) => `shut${n}`));
  });

  test('one that waits for its retry leaves its place to the others where it does not hold [X.8]', async ({
    postgres,
  }) => {
    const service = await testService(postgres);
    const seen: number[] = [];
    const later = Promise.withResolvers<void>();
    const caller = async ({ n }: { n: number }, { attempt }: { attempt: number }): Promise<void> => {
      if (n === 1 && attempt === 1) throw new Error('busy');
      if (n === 1) await later.promise;
      seen.push(n);
    };
    service.hf.on(called, 'caller', caller, { lines: settableLines({}, false), policy: AT_ONCE, breaker: false });
    await send(service, 'a', upTo(3));
    await service.start();
    await expect.poll(() => seen.slice(0, 2)).toEqual([2, 3]);
    expect(await service.column('select count(*)::int from $.delivery where holds')).toEqual([0]);
    later.resolve();
    await expect.poll(() => seen).toEqual([2, 3, 1]);
  });
});

describe('postpone', () => {
  test('ends a run without an attempt, says why, and the message comes back [X.8]', async ({ postgres }) => {
    const service = await testService(postgres);
    const attempts: number[] = [];
    const state = { isClosed: true };
    const caller = (_: unknown, ctx: { attempt: number; postpone(ms: number, reason: string): never }): void => {
      attempts.push(ctx.attempt);
      if (state.isClosed) ctx.postpone(attempts.length === 1 ? 1 : 3_600_000, 'closed for lunch');
    };
    service.hf.on(called, 'caller', caller, { policy: { maxAttempts: 1 } });
    const { id } = await service.inTransaction((tx) => service.hf.send(tx, called, { key: 'a', n: 1 }));
    await service.start();
    await expect.poll(() => attempts).toEqual([1, 1]);
    const operator = postgresOperator({ pool: service.pool, schema: service.schema });
    const reasonOf = async (): Promise<unknown> => operator.why(id);
    await expect.poll(reasonOf).toMatchObject({
      deliveries: [{ reason: { kind: 'postponed', reason: 'closed for lunch' } }],
    });
    expect(service.events.filter(({ kind }) => kind === 'run-interrupted')).toMatchObject([
      { reason: 'postponed', detail: 'closed for lunch' },
      { reason: 'postponed', detail: 'closed for lunch' },
    ]);
    state.isClosed = false;
    await service.column('update $.delivery set due_at = now() returning 1');
    await expect.poll(() => service.column('select outcome::int from $.delivered')).toEqual([0]);
    expect(attempts).toEqual([1, 1, 1]);
  });

  test('a handler can give each failure its own policy [X.8]', async ({ postgres }) => {
    const service = await testService(postgres);
    const attempts: number[] = [];
    const caller = (): never => {
      attempts.push(attempts.length + 1);
      throw new Error(attempts.length < 3 ? 'mild' : 'hard');
    };
    service.hf.on(called, 'caller', caller, {
      policy: { maxAttempts: 1 },
      policyOf: (error) => ((error as Error).message === 'mild' ? AT_ONCE : undefined),
      breaker: false,
    });
    await send(service, 'a', [1]);
    await service.start();
    await expect.poll(() => service.column('select attempts from $.delivery where state = 2')).toEqual([3]);
  });
});
