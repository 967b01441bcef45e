import { describe, expect, test } from 'vitest';
import { createClassifier } from '../retry/classifier.ts';
import { eventHandler } from '../retry/policies.ts';
import { TerminalHandlerError } from '../retry/terminal-handler-error.ts';
import type { HandlerDefinition } from './handler.ts';
import type { Delivery } from './relay-store.ts';
import { type FailurePlan, planFailure } from './run-failure.ts';

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
  about: { attempts?: number; retry?: Delivery['retry']; type?: string; of?: Partial<typeof handler> } = {},
): FailurePlan {
  const delivery = { type: about.type ?? 'any', attempts: about.attempts ?? 0, retry: about.retry } as Delivery;
  const failed = {
    delivery,
    target,
    error,
    startedAt: { wallMs: 999_900, monoMs: 400 },
    now,
    random: 1 - Number.EPSILON,
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
    expect(event.next).toEqual({ kind: 'dead', reason: 'not-retryable' });
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
