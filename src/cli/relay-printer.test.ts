import { describe, expect, test } from 'vitest';
import type { RelayEvent } from '../relay/relay-event.ts';
import type { HouseReport } from '../relay/house-report.ts';
import type { Delivery } from '../relay/relay-store.ts';
import { virtualTime } from '../testing/virtual-time.ts';
import type { Io } from './io.ts';
import { Output } from './output.ts';
import { describeTally, RelayPrinter } from './relay-printer.ts';

const delivery = { id: 'm1', type: 'order.placed', key: 'k' } as Delivery;
const error = { name: 'Error', message: 'away\u001B[2J', kind: 'unknown' };
const failed = {
  kind: 'run-failed',
  handler: 'mail',
  delivery,
  attempt: 2,
  maxAttempts: 5,
  durationMs: 3,
  failure: { verdict: 'retry', kind: 'unknown' },
  error,
  next: { kind: 'retry', delayMs: 2_000 },
} as const satisfies RelayEvent;
const done = { kind: 'run-done', handler: 'mail', delivery, attempt: 1, maxAttempts: 5, durationMs: 3 } as const;

function printer(options: { readonly isJson?: boolean; readonly isVerbose?: boolean } = {}): {
  readonly lines: () => string[];
  readonly relay: RelayPrinter;
} {
  let out = '';
  const io = {
    out: (text: string) => (out += text),
    isTty: false,
    env: {},
    effects: virtualTime({ wallMs: Date.UTC(2026, 0, 1, 12) }),
  } as unknown as Io;
  const relay = new RelayPrinter(io, new Output(io, options.isJson ?? false), options.isVerbose ?? false);
  return { relay, lines: () => out.split('\n').slice(0, -1) };
}

function house(...unserved: HouseReport['unserved']): RelayEvent {
  return { kind: 'house', report: { pending: 0, failed: 0, oldestMs: undefined, isFull: false, unserved } };
}

describe('what a relay prints', () => {
  test('is a line for each failure and a sum for the rest', () => {
    const { relay, lines } = printer();
    for (let i = 0; i < 1_500; i++) relay.observe(done);
    relay.observe(failed);
    relay.observe({ ...failed, next: { kind: 'dead', reason: 'attempts', dlqId: 'm:1' } });
    relay.observe({ kind: 'run-refused', handler: 'mail', delivery, reason: 'lease-lost' });
    relay.sayTally();
    relay.sayTally();
    expect(lines()).toEqual([
      '12:00:00  mail  order.placed m1  attempt 2 of 5 failed, tried again in 2 s: Error: away',
      '12:00:00  mail  order.placed m1  attempt 2 of 5 failed for good (attempts): Error: away',
      '12:00:00  mail  order.placed m1  came too late and was refused (lease-lost)',
      '12:00:00  1,500 handled, 1 retry, 1 dead letter, 1 too late',
    ]);
    expect(describeTally(relay.tally)).toBe('1,500 handled, 1 retry, 1 dead letter, 1 too late');
  });

  test('names each message when asked to', () => {
    const { relay, lines } = printer({ isVerbose: true });
    relay.observe(done);
    expect(lines()).toEqual(['12:00:00  mail  order.placed m1  done in 3 ms']);
  });

  test('is one JSON document per line for programs', () => {
    const { relay, lines } = printer({ isJson: true });
    relay.observe(failed);
    expect(lines().map((line) => JSON.parse(line) as unknown)).toEqual([
      expect.objectContaining({
        at: '2026-01-01T12:00:00.000Z',
        kind: 'run-failed',
        handler: 'mail',
        id: 'm1',
        attempt: 2,
        next: { kind: 'retry', delayMs: 2_000 },
      }),
    ]);
  });

  test('tells ever less often that the database is away', () => {
    const { relay, lines } = printer();
    for (let failures = 1; failures <= 20; failures++) {
      relay.observe({ kind: 'store-failed', during: 'read', error: new Error('gone'), failures });
    }
    expect(lines()).toHaveLength(5);
    expect(lines()[0]).toContain('the database did not answer (read: gone); tried again');
  });

  test('tells what nobody serves once, and again when it changes', () => {
    const { relay, lines } = printer();
    const one = { reason: 'no-worker', handler: 'mail', type: undefined, generation: undefined, count: 2 } as const;
    relay.observe(house(one));
    relay.observe(house(one));
    relay.observe(house());
    relay.observe(house({ ...one, count: 3 }));
    expect(lines()).toEqual([
      '12:00:00  nobody serves 2 deliveries of mail: no-worker',
      '12:00:00  nobody serves 3 deliveries of mail: no-worker',
    ]);
  });
});
