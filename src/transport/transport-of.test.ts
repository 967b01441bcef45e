import { expect, test } from 'vitest';
import { HoldfastError } from '../kernel/error.ts';
import { localBroker } from '../testing/local-broker.ts';
import { systemEffects } from '../system/effects.ts';
import { planFailure } from '../relay/run-failure.ts';
import type { Delivery } from '../relay/relay-store.ts';
import { transportOf } from './transport-of.ts';

const MINUTE_MS = 60_000;
const receive = async (): Promise<never[]> => [];
const host = {
  service: 'orders',
  effects: systemEffects,
  tell: () => undefined,
  types: [],
  receive,
  taken: receive,
  takeBack: receive,
};
const target = { token: { unit: 1, epoch: 2 }, seq: 3, state: 'ready', version: 0, cycle: 0 } as const;

/** What follows when a message has failed so often, the first time so long ago. */
function after(error: unknown, attempts: number, agoMs: number): string {
  const { handler } = transportOf(localBroker()).handlers(host).to;
  const now = { wallMs: 10_000_000_000, monoMs: 0 };
  const startedAt = { wallMs: now.wallMs - agoMs, monoMs: -agoMs };
  const retry = { v: 1, attempts, waitedMs: agoMs, lastDelayMs: 0, startedAt } as const;
  const delivery = { attempts, retry } as unknown as Delivery;
  return planFailure(handler, { delivery, dlqId: 'm:7', target, error, startedAt: now, now, random: 0.5 }).event.next
    .kind;
}

test('a place that is missing or closed is waited for, for a day; what is wrong with a message itself is tried seven times [S1.5]', () => {
  const transport = 'local';
  const missing = new HoldfastError('KAFKA_TOPIC_REFUSED', { topic: 'a', answer: 'UNKNOWN_TOPIC_OR_PARTITION' });
  const unbound = new HoldfastError('BROKER_REFUSED', { transport, place: 'a message', problem: 'no queue is bound' });
  const other = { place: 'exchange "a"', problem: 'PRECONDITION_FAILED - inequivalent arg', transport };
  const cause = Object.assign(new Error('406'), { code: 406 });
  const settings = new HoldfastError('BROKER_REFUSED', other, { cause });
  for (const error of [missing, unbound, settings]) {
    expect(after(error, 40, 23 * 60 * MINUTE_MS), String(error)).toBe('retry');
    expect(after(error, 40, 25 * 60 * MINUTE_MS), String(error)).toBe('dead');
  }
  const large = { transport, place: 'a message', problem: 'PRECONDITION_FAILED - message size' };
  const corrupt = new HoldfastError('KAFKA_TOPIC_REFUSED', { topic: 'a', answer: 'CORRUPT_MESSAGE' });
  for (const error of [new HoldfastError('BROKER_REFUSED', large, { cause }), corrupt, new Error('of a broker')]) {
    expect(after(error, 5, MINUTE_MS), String(error)).toBe('retry');
    expect(after(error, 6, MINUTE_MS), String(error)).toBe('dead');
  }
});
