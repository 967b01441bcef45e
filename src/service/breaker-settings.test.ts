import { expect, test } from 'vitest';
import { event, type EventDefinition } from '../outbox/event.ts';
import type { BreakerOptions } from '../relay/breaker.ts';
import { HandlerRegistry } from './handler-registry.ts';

const events = [event('order.placed') as unknown as EventDefinition<never, unknown>];

function add(registry: HandlerRegistry<unknown>, name: string, breaker?: BreakerOptions | false): void {
  const run = { kind: 'handle', run: () => undefined } as const;
  registry.add({ of: 'on()', events, name, run, options: breaker === undefined ? {} : { breaker } });
}

test('a handler has a breaker of its own, or one it shares by name, or none [X.10]', () => {
  const registry = new HandlerRegistry<unknown>();
  add(registry, 'charge');
  add(registry, 'refund', { dependency: 'stripe', failures: 2, probeAfterMs: 90_000 });
  add(registry, 'mail', false);
  expect([...registry.all.values()].map(({ breaker }) => breaker)).toEqual([
    { name: 'charge', failures: 5, openAfterMs: 1_000, probeAfterMs: 1_000, maxProbeAfterMs: 4_000 },
    { name: 'stripe', failures: 2, openAfterMs: 1_000, probeAfterMs: 90_000, maxProbeAfterMs: 90_000 },
    undefined,
  ]);
});

test('a breaker that cannot be is refused with what to write, also where two handlers disagree about one [X.10]', () => {
  const registry = new HandlerRegistry<unknown>();
  add(registry, 'charge', { dependency: 'stripe' });
  const wrong = { dependency: 'a b', failures: 0, probeAfterMs: 100, maxProbeAfterMs: 50, falures: 1 };
  expect(() => add(registry, 'refund', wrong)).toThrow(
    /falures.*breaker\.dependency.*breaker\.failures.*breaker\.maxProbeAfterMs/s,
  );
  expect(() => add(registry, 'refund', { dependency: 'stripe', failures: 2 })).toThrow(/the same numbers/);
  add(registry, 'refund', { dependency: 'stripe' });
  const run = { kind: 'project', run: { of: 'each', run: () => undefined } } as const;
  expect(() => registry.add({ of: 'project()', events, name: 'totals', run, options: { breaker: {} } })).toThrow(
    /the database of the relay itself/,
  );
});
