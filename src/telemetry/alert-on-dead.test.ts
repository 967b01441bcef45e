import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dead, delivery, DLQ_ID, done, failed, house, TRACE_ID } from '../../test/telemetry/made-events.ts';
import type { OutageState } from '../kernel/retry-state.ts';
import type { RelayEvent, RelayObserver } from '../relay/relay-event.ts';
import { virtualTime, type VirtualTime } from '../testing/virtual-time.ts';
import type { Alert } from './alert.ts';
import { alertOnDead, type AlertOptions } from './alert-on-dead.ts';

function watched(options: Partial<AlertOptions> = {}): {
  readonly observe: RelayObserver;
  readonly alerts: Alert[];
  readonly time: VirtualTime;
} {
  const alerts: Alert[] = [];
  const time = virtualTime();
  return { observe: alertOnDead({ sink: (alert) => alerts.push(alert), effects: time, ...options }), alerts, time };
}

const deadOne = (id: string, message = 'boom'): ReturnType<typeof dead> =>
  dead({ delivery: delivery({ id }), error: { name: 'Error', message, kind: 'unknown' } });

describe('a message that fails for good', () => {
  test('is told with event id, type, source, target, handler, last error and attempts [S4.8]', () => {
    const { observe, alerts } = watched();
    observe(done());
    observe(failed());
    expect(alerts).toEqual([]);
    observe(dead());
    expect(alerts).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown,
        at: '2026-01-01T00:00:00.000Z',
        kind: 'dead',
        group: 'dead charge Error ECONNRESET: read ECONNRESET',
        text: `charge gave up on order.placed ${delivery().id} after 5 attempts (attempts): Error: read ECONNRESET`,
        dlqId: DLQ_ID,
        eventId: delivery().id,
        type: 'order.placed',
        source: 'orders',
        target: 'billing',
        handler: 'charge',
        key: 'ord_1',
        attempts: 5,
        reason: 'attempts',
        idempotencyKey: 'order:1',
        correlationId: 'corr-1',
        traceId: TRACE_ID,
        error: { name: 'Error', message: 'read ECONNRESET', code: 'ECONNRESET', kind: 'network' },
        suppressed: { count: 0, eventIds: [] },
      },
    ]);
  });

  test('is told at once; others of its cause within the minute come as one, with their number [S4.8]', async () => {
    const { observe, alerts, time } = watched();
    for (let i = 0; i < 100; i++) observe(deadOne(`id-${i}`, `order ${i} failed`));
    expect(alerts).toHaveLength(1);
    observe(deadOne('id-x', 'another cause'));
    expect(alerts).toHaveLength(2);
    await time.advance(60_000);
    expect(alerts).toHaveLength(3);
    const [, , summary] = alerts;
    expect(summary).toMatchObject({ eventId: 'id-99', suppressed: { count: 98 } });
    expect(summary?.text).toContain('and 98 more of this cause');
    expect(summary?.kind === 'dead' && summary.suppressed.eventIds).toHaveLength(20);
    observe(deadOne('id-100', 'order 100 failed'));
    expect(alerts).toHaveLength(3);
    await time.advance(60_000);
    expect(alerts.at(-1)).toMatchObject({ eventId: 'id-100', suppressed: { count: 0 } });
    await time.advance(60_000);
    observe(deadOne('id-101', 'order 101 failed'));
    expect(alerts.at(-1)).toMatchObject({ eventId: 'id-101' });
    expect(time.pendingTimers).toBe(0);
  });

  test('is told when the minute of its own cause ends, not that of another', async () => {
    const { observe, alerts, time } = watched();
    observe(deadOne('a-1', 'cause a'));
    await time.advance(30_000);
    for (const [id, cause] of [
      ['b-1', 'cause b'],
      ['b-2', 'cause b'],
      ['a-2', 'cause a'],
    ] as const)
      observe(deadOne(id, cause));
    expect(alerts).toHaveLength(2);
    await time.advance(30_000);
    expect(alerts.at(-1)).toMatchObject({ eventId: 'a-2' });
    await time.advance(30_000);
    expect(alerts.at(-1)).toMatchObject({ eventId: 'b-2' });
  });

  test('is told each time when that is wanted', () => {
    const { observe, alerts, time } = watched({ quietMs: 0 });
    for (let i = 0; i < 10; i++) observe(deadOne(`id-${i}`));
    expect(alerts).toHaveLength(10);
    expect(time.pendingTimers).toBe(0);
  });

  test('is not forgotten when the relay stops, and no timer keeps the process alive', () => {
    const { observe, alerts, time } = watched();
    observe(deadOne('id-1'));
    observe(deadOne('id-2'));
    observe({ kind: 'stopped' });
    expect(alerts.map((alert) => 'eventId' in alert && alert.eventId)).toEqual(['id-1', 'id-2']);
    expect(time.pendingTimers).toBe(0);
  });

  test('is told of or counted exactly once, in any order of causes and times', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 40_000 }))),
        async (steps) => {
          const { observe, alerts, time } = watched();
          for (const [i, [cause, ms]] of steps.entries()) {
            await time.advance(ms);
            observe(deadOne(`id-${i}`, `cause ${'abcd'[cause] ?? ''}`));
          }
          await time.advance(60_000);
          const told = alerts.map((alert) => (alert.kind === 'dead' ? 1 + alert.suppressed.count : 0));
          expect(told.reduce((sum, one) => sum + one, 0)).toBe(steps.length);
          expect(time.pendingTimers).toBe(0);
          const times = Map.groupBy(alerts, (alert) => alert.group);
          for (const group of times.values()) {
            for (const [i, alert] of group.entries()) {
              const before = group[i - 1];
              if (before) expect(Date.parse(alert.at) - Date.parse(before.at)).toBeGreaterThanOrEqual(60_000);
            }
          }
        },
      ),
      { numRuns: 15 },
    );
  });

  test('with a thousand causes at once is still told', () => {
    const { observe, alerts } = watched();
    const name = (i: number): string => `${'abcdefghij'[i % 10] ?? ''}${'abcdefghij'[Math.floor(i / 10) % 10] ?? ''}`;
    for (const id of ['first', 'held']) observe(deadOne(id, 'a cause of its own'));
    for (let i = 0; i < 3_000; i++) observe(deadOne(`id-${i}`, `cause ${name(i)} ${name(Math.floor(i / 100))}`));
    expect(alerts).toHaveLength(3_002);
    expect(alerts.map((alert) => 'eventId' in alert && alert.eventId)).toContain('held');
  });

  test('is told when it was set aside behind a dead letter of its key [S4.8]', () => {
    const { observe, alerts } = watched();
    observe({ kind: 'parked', handler: 'charge', delivery: delivery(), dlqId: DLQ_ID });
    expect(alerts).toMatchObject([{ kind: 'parked', eventId: delivery().id, handler: 'charge' }]);
  });
});

function breakerClosed(): RelayEvent {
  const about = { breaker: 'charge', handlers: ['charge'], waiting: 0, failingMs: 0 };
  return { kind: 'breaker', ...about, state: 'closed', cause: 'elsewhere' };
}

describe('what keeps messages from being handled', () => {
  const unserved = [
    { reason: 'no-worker', handler: 'mail', type: undefined, generation: undefined, count: 4 },
    { reason: 'generation-unserved', handler: 'mail', type: undefined, generation: 7, count: 1 },
    { reason: 'no-handler', handler: undefined, type: 'user.left', generation: undefined, count: 2 },
  ] as const;

  test('nobody who serves them, once that has lasted longer than a deployment', async () => {
    const { observe, alerts, time } = watched();
    observe(house({ unserved }));
    await time.advance(59_000);
    observe(house({ unserved }));
    expect(alerts).toEqual([]);
    await time.advance(1_000);
    observe(house({ unserved }));
    expect(alerts.map((alert) => alert.text)).toEqual([
      '4 messages mail that nobody serves: no worker runs mail',
      '1 message mail that nobody serves: no worker runs mail in generation 7',
      '2 messages user.left that nobody serves: no handler is known for user.left',
    ]);
    await time.advance(3_599_000);
    observe(house({ unserved }));
    expect(alerts).toHaveLength(3);
    await time.advance(1_000);
    observe(house({ unserved }));
    expect(alerts).toHaveLength(6);
  });

  test('what came and went is nothing to tell, and begins anew', async () => {
    const { observe, alerts, time } = watched();
    for (const report of [{ unserved }, {}, { unserved }]) {
      observe(house(report));
      await time.advance(50_000);
    }
    observe(house({ unserved: [] }));
    expect(alerts).toEqual([]);
  });

  test('an outage that makes messages starve, and the next one too, however soon it comes [X.10]', async () => {
    const { observe, alerts, time } = watched();
    const outageFor = (ms: number): OutageState => {
      const lastAtMs = time.now().wallMs;
      return { failures: 9, spentMs: ms, maxMs: 86_400_000, firstAtMs: lastAtMs - ms, lastAtMs };
    };
    const starves = (ms: number): void =>
      observe(failed({ next: { kind: 'retry', delayMs: 1_000, outage: outageFor(ms) } }));
    starves(299_000);
    expect(alerts).toEqual([]);
    starves(301_000);
    starves(302_000);
    expect(alerts).toMatchObject([{ kind: 'starving', handlers: ['charge'], count: 1, ageMs: 301_000 }]);
    observe(done());
    await time.advance(600_000);
    starves(301_000);
    expect(alerts).toMatchObject([{ kind: 'starving' }, { kind: 'starving', count: 1 }]);
    // Another process has delivered it.
    observe(breakerClosed());
    await time.advance(600_000);
    starves(301_000);
    expect(alerts).toMatchObject([{ kind: 'starving' }, { kind: 'starving' }, { kind: 'starving', count: 1 }]);
  });

  test('a full outbox and an old message', () => {
    const { observe, alerts } = watched({ oldestMs: 10_000 });
    observe(house({ oldestMs: 10_000 }));
    observe(house({ oldestMs: undefined }));
    expect(alerts).toEqual([]);
    for (let i = 0; i < 3; i++) observe(house({ isFull: true, oldestMs: 10_001 }));
    expect(alerts.map((alert) => alert.kind)).toEqual(['outbox-full', 'oldest-age']);
  });

  test('a database that fails again and again, without its secrets', () => {
    const { observe, alerts } = watched();
    const fail = (failures: number): void =>
      observe({ kind: 'store-failed', during: 'read', error: new Error('postgres://a:hunter2@db down'), failures });
    for (let failures = 1; failures <= 20; failures++) fail(failures);
    expect(alerts).toMatchObject([{ kind: 'store-failing', failures: 5, during: 'read' }]);
    expect(JSON.stringify(alerts)).not.toContain('hunter2');
    observe(house());
    fail(21);
    expect(alerts).toHaveLength(1);
    for (let failures = 1; failures <= 5; failures++) fail(failures);
    expect(alerts).toHaveLength(2);
  });
});

describe('sinks', () => {
  test('are all told, and what they throw goes nowhere', async () => {
    const alerts: Alert[] = [];
    const broken = (): never => {
      throw new Error('broken');
    };
    const observe = alertOnDead({
      sink: [broken, () => Promise.reject(new Error('broken')), (alert) => alerts.push(alert)],
    });
    observe(dead());
    await new Promise((wake) => setImmediate(wake));
    expect(alerts).toHaveLength(1);
    observe({ kind: 'stopped' });
  });

  test('options that cannot work are refused, all named', () => {
    const make = (): unknown =>
      alertOnDead({ sink: 'https://x', quietMS: 1, oldestMs: -1, storeFailures: 0.5 } as never);
    expect(make).toThrow(/did you mean quietMs.*sink is.*oldestMs is -1.*storeFailures is 0.5/);
    expect(() => alertOnDead({ sink: [] })).toThrow('sink is an array');
  });
});
