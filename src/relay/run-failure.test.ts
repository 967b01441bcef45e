import { describe, expect, test } from 'vitest';
import { createClassifier } from '../retry/classifier.ts';
import { eventHandler } from '../retry/policies.ts';
import type { Policy } from '../retry/policy.ts';
import { constant } from '../retry/schedule.ts';
import { TerminalHandlerError } from '../retry/terminal-handler-error.ts';
import type { HandlerDefinition } from './handler.ts';
import type { Delivery } from './relay-store.ts';
import { type FailedAttempt, type FailurePlan, planFailure } from './run-failure.ts';

const handler: HandlerDefinition<unknown> = {
  kind: 'handle',
  name: 'mail',
  policy: eventHandler,
  classifier: createClassifier({ unknown: 'retry' }),
  concurrency: 1,
  timeoutMs: 1_000,
  onDead: 'block',
  repeatable: false,
  takes: new Map(),
};
const now = { wallMs: 1_000_000, monoMs: 500 };
const target = { token: { unit: 1, epoch: 2 }, seq: 3, state: 'ready', version: 0, cycle: 0 } as const;

function plan(
  error: unknown,
  about: {
    attempts?: number;
    retry?: Delivery['retry'];
    type?: string;
    of?: Partial<typeof handler>;
    failed?: Partial<FailedAttempt>;
  } = {},
): FailurePlan {
  const delivery = { type: about.type ?? 'any', attempts: about.attempts ?? 0, retry: about.retry } as Delivery;
  const failed = {
    delivery,
    dlqId: 'm:7',
    target,
    error,
    startedAt: { wallMs: 999_900, monoMs: 400 },
    now,
    random: 1 - Number.EPSILON,
    ...about.failed,
  };
  return planFailure({ ...handler, ...about.of } as typeof handler, failed);
}

describe('after a failed attempt', () => {
  test('the waits grow from 1 s by doubling, and the fifth failure is the last [S4.2]', () => {
    const delays: unknown[] = [];
    let retry: Delivery['retry'];
    for (let attempts = 0; attempts < 5; attempts += 1) {
      const { settlement } = plan(new Error('down'), { attempts, retry });
      delays.push(settlement.kind === 'retry' ? Math.round(settlement.delayMs) : settlement.kind);
      retry = settlement.kind === 'retry' ? settlement.retry : undefined;
    }
    expect(delays).toEqual([1_000, 2_000, 4_000, 8_000, 'dead']);
  });

  test('a final error is dead at once, whatever attempts are left [S4.3]', () => {
    const { settlement, event } = plan(new TerminalHandlerError('no'));
    expect(settlement).toMatchObject({ kind: 'dead', attempts: 1, holds: true });
    expect(event.next).toEqual({ kind: 'dead', reason: 'not-retryable', dlqId: 'm:7' });
  });

  test('a dead one holds its key unless the handler lets others pass [X.4]', () => {
    const dead = new TerminalHandlerError('no');
    expect(plan(dead, { of: { onDead: 'block' } }).change).toBe('blocks');
    expect(plan(dead, { of: { onDead: 'park' } }).change).toBe('blocks');
    expect(plan(dead, { of: { onDead: 'pass' } })).toMatchObject({ change: 'passes', settlement: { holds: false } });
  });

  test('a dead one may say by itself whether it holds its key; one that cannot say does', () => {
    const dead = new TerminalHandlerError('no');
    const onDead = ({ attempts }: Delivery): 'block' | 'pass' => (attempts === 0 ? 'pass' : 'block');
    expect(plan(dead, { of: { onDead } }).change).toBe('passes');
    expect(plan(dead, { attempts: 1, of: { onDead } }).change).toBe('blocks');
    const broken = (): never => {
      throw new Error('bug');
    };
    expect(plan(dead, { of: { onDead: broken } }).change).toBe('blocks');
  });

  test('a type with rules of its own is judged by those, in the same handler', () => {
    const own = { ...handler, policy: { ...eventHandler, maxAttempts: 1 }, onDead: 'pass' } as const;
    const of = { rulesByType: new Map([['own', own]]) };
    expect(plan(new Error('down'), { of }).settlement.kind).toBe('retry');
    const { settlement, event } = plan(new Error('down'), { type: 'own', of });
    expect(settlement).toMatchObject({ kind: 'dead', holds: false });
    expect(event).toMatchObject({ handler: 'mail', maxAttempts: 1 });
  });

  test('a classifier that throws costs an attempt and not the message', () => {
    const classifier = (): never => {
      throw new Error('bug');
    };
    expect(plan(new Error('down'), { of: { classifier } }).settlement.kind).toBe('retry');
  });
});

const HOUR = 3_600_000;
const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
const answered = (status: number): Error => Object.assign(new Error(`answered ${status}`), { status });
const waits = { maxOutageMs: 24 * HOUR };

/** What follows one failure after the other, each when the wait before is over. */
function afterEach(
  errors: readonly Error[],
  of: Partial<typeof handler>,
  failed: (atMs: number) => Partial<FailedAttempt> = () => ({}),
): FailurePlan[] {
  const plans: FailurePlan[] = [];
  let [atMs, attempts] = [now.wallMs, 0];
  let retry: Delivery['retry'];
  for (const error of errors) {
    const at = { wallMs: atMs, monoMs: atMs };
    const next = plan(error, { attempts, retry, of, failed: { now: at, startedAt: at, ...failed(atMs) } });
    plans.push(next);
    if (next.settlement.kind !== 'retry') break;
    ({ attempts, retry } = next.settlement);
    atMs += next.settlement.delayMs;
  }
  return plans;
}

function spent(plans: readonly FailurePlan[]): unknown[] {
  return plans.map(({ settlement }) => (settlement.kind === 'retry' ? settlement.attempts : settlement.kind));
}

describe('a failure because of an outage', () => {
  test('spends no attempts, keeps count of itself, and leaves all attempts for failures of the message [S4.2] [X.10]', () => {
    const bug = new Error('bug');
    const plans = afterEach([refused, answered(503), answered(429), bug, refused, bug, bug, bug, bug], { ...waits });
    expect(spent(plans)).toEqual([0, 0, 0, 1, 1, 2, 3, 4, 'dead']);
    expect(plans.map(({ event: { attempt, maxAttempts } }) => [attempt, maxAttempts])).toEqual([
      [1, 5],
      [2, 6],
      [3, 7],
      [4, 8],
      [5, 8],
      [6, 9],
      [7, 9],
      [8, 9],
      [9, 9],
    ]);
    expect(plans[4]?.event.next).toMatchObject({ kind: 'retry', outage: { failures: 4, maxMs: 24 * HOUR } });
    expect(plans[5]?.event.next).not.toHaveProperty('outage');
  });

  test('makes the message a dead letter once the waiting has used up the budget, with a reason that says so [X.10]', () => {
    const plans = afterEach(Array<Error>(200).fill(refused), { maxOutageMs: HOUR });
    const last = plans.at(-1);
    expect(last?.event.next).toEqual({ kind: 'dead', reason: 'outage-budget', dlqId: 'm:7' });
    expect(last?.settlement).toMatchObject({
      kind: 'dead',
      attempts: plans.length,
      error: { code: 'OUTAGE_TOO_LONG', isFinal: true, message: expect.stringContaining('ECONNREFUSED') as unknown },
    });
    const waited = plans.reduce((sum, { event: { next } }) => sum + (next.kind === 'retry' ? next.delayMs : 0), 0);
    expect(waited).toBeGreaterThan(HOUR - 300_000);
    expect(waited).toBeLessThanOrEqual(HOUR);
  });

  test('charges a wait with an hour at most, however long nothing was tried [X.10]', () => {
    const retry = { v: 1, attempts: 0, waitedMs: 0, lastDelayMs: 1_000, startedAt: now } as const;
    const outage = { failures: 1, spentMs: 0, maxMs: 24 * HOUR, firstAtMs: now.wallMs, lastAtMs: now.wallMs };
    const monday = { wallMs: now.wallMs + 60 * HOUR, monoMs: 60 * HOUR };
    const { event } = plan(refused, { retry: { ...retry, outage }, of: { ...waits }, failed: { now: monday } });
    expect(event.next).toMatchObject({ kind: 'retry', outage: { failures: 2, spentMs: HOUR } });
  });

  test('waits as long as its breaker says where that is not closed, and by its policy otherwise [X.10]', () => {
    const delay = (failed: Partial<FailedAttempt>): unknown => plan(refused, { of: { ...waits }, failed }).event.next;
    expect(delay({ heldMs: 1_250 })).toMatchObject({ delayMs: 1_250 });
    expect(delay({})).toMatchObject({ delayMs: 1_000 });
  });

  test('waits 4 s, or a tenth of what the outage has lasted, at most, and never less than the first step of its schedule [X.10]', () => {
    const delays = (policy: Policy): number[] =>
      afterEach(Array<Error>(40).fill(answered(503)), { ...waits, policy }).map(({ event: { next } }) =>
        next.kind === 'retry' ? next.delayMs : NaN,
      );
    const grown = delays(eventHandler);
    expect(grown.slice(0, 4)).toEqual([1_000, 2_000, 4_000, 4_000]);
    let lastedMs = 0;
    for (const delayMs of grown) {
      expect(delayMs).toBeLessThanOrEqual(Math.max(4_000, lastedMs * 0.1));
      lastedMs += delayMs;
    }
    expect(grown.at(-1)).toBe(16_000);
    const steps = { ...eventHandler, schedule: constant(60_000) };
    expect(new Set(delays(steps))).toEqual(new Set([60_000]));
  });

  test('spends an attempt where the handler has no budget for outages, and where a time limit of its policy ends first [S4.2]', () => {
    expect(spent(afterEach([refused, refused, refused, refused, refused], {}))).toEqual([1, 2, 3, 4, 'dead']);
    const policy = { ...eventHandler, maxElapsedMs: 10_000 };
    const plans = afterEach(Array<Error>(9).fill(refused), { ...waits, policy });
    expect(plans.at(-1)?.event.next).toEqual({ kind: 'dead', reason: 'outage-budget', dlqId: 'm:7' });
    expect(plans.length).toBeLessThan(6);
  });

  test('is taken for the message itself, if it is a 500 or its time limit, once another message has succeeded since [X.10]', () => {
    const five = (error: Error): Error[] => Array<Error>(7).fill(error);
    const others = (atMs: number): Partial<FailedAttempt> => ({ succeededAtMs: atMs - 1 });
    expect(spent(afterEach(five(answered(500)), waits, others))).toEqual([0, 1, 2, 3, 4, 'dead']);
    expect(spent(afterEach(five(answered(500)), waits))).toEqual([0, 0, 0, 0, 0, 0, 0]);
    expect(spent(afterEach(five(answered(503)), waits, others))).toEqual([0, 0, 0, 0, 0, 0, 0]);
    const late = Object.assign(new Error('late'), { code: 'ETIMEDOUT' });
    const ownLimit = (atMs: number): Partial<FailedAttempt> => ({ ...others(atMs), isOwnTimeLimit: true });
    expect(spent(afterEach(five(late), waits, ownLimit))).toEqual([0, 1, 2, 3, 4, 'dead']);
    expect(spent(afterEach(five(late), waits, others))).toEqual([0, 0, 0, 0, 0, 0, 0]);
  });
});
