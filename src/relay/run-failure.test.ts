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
  about: { attempts?: number; retry?: Delivery['retry']; of?: Partial<typeof handler> } = {},
): FailurePlan {
  const delivery = { attempts: about.attempts ?? 0, retry: about.retry } as Delivery;
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

  test('a classifier that throws costs an attempt and not the message', () => {
    const classifier = (): never => {
      throw new Error('bug');
    };
    expect(plan(new Error('down'), { of: { classifier } }).settlement.kind).toBe('retry');
  });
});
