import { expect, test } from 'vitest';
import { event } from '../outbox/event.ts';
import type { HandlerDefinition, HandlerOptions } from '../relay/handler.ts';
import { eventHandler, webhookDelivery } from '../retry/policies.ts';
import { policy } from '../retry/policy.ts';
import { HandlerRegistry } from './handler-registry.ts';

const placed = event('order.placed');

function registered(options: HandlerOptions): HandlerDefinition<unknown> | undefined {
  const registry = new HandlerRegistry<unknown>();
  const run = { kind: 'handle', run: () => undefined } as const;
  registry.add({ of: 'on()', events: [placed], name: 'charge', run, options });
  return registry.all.get('charge');
}

test('fields of a policy change the policy of handlers, not that of service calls', () => {
  expect(registered({ policy: { maxAttempts: 9 } })).toMatchObject({
    policy: { maxAttempts: 9, timeoutMs: Infinity, schedule: { spec: eventHandler.schedule.spec } },
    timeoutMs: 300_000,
  });
  expect(registered({ policy: { timeoutMs: 20 } })).toMatchObject({ timeoutMs: 20, policy: { maxAttempts: 5 } });
  const whole = policy({ maxAttempts: 2 });
  expect(registered({ policy: whole })?.policy).toBe(whole);
  expect(registered({})?.policy).toBe(eventHandler);
});

test('a handler that comes after the start is refused: nobody would ever call it', () => {
  const registry = new HandlerRegistry<unknown>();
  registry.seal();
  const run = { kind: 'handle', run: () => undefined } as const;
  expect(() => registry.add({ of: 'on()', events: [placed], name: 'late', run, options: {} })).toThrow(
    'name is "late"; register it before hf.start()',
  );
});

test('a wrong policy of a handler is refused with the field and the nearest one', () => {
  expect(() => registered({ policy: { attempts: 9 } as never })).toThrow(
    'on() cannot work as written: policy.attempts is not an option; did you mean maxAttempts?',
  );
  expect(() => registered({ policy: 'often' as never })).toThrow('or its fields: { maxAttempts: 5 }');
});

test("events that are given to a name one by one may have rules of their own; what is the handler's is said once", () => {
  const registry = new HandlerRegistry<unknown>();
  const run = { kind: 'handle', run: () => undefined } as const;
  const add = (type: string, options: HandlerOptions): void =>
    registry.add({ of: 'on()', events: [event(type)], name: 'charge', run, options });
  add('first', { policy: { maxAttempts: 2 }, concurrency: 3, onDead: 'pass' });
  add('second', { policy: { maxAttempts: 7 }, timeoutMs: 5 });
  add('third', {});
  const charge = registry.all.get('charge');
  expect(charge).toMatchObject({ policy: { maxAttempts: 2 }, concurrency: 3, onDead: 'pass' });
  expect([...(charge?.takes.keys() ?? [])]).toEqual(['first', 'second', 'third']);
  expect([...(charge?.rulesByType ?? [])]).toMatchObject([
    ['second', { policy: { maxAttempts: 7 }, timeoutMs: 5, onDead: 'block' }],
  ]);
  expect(() => add('fourth', { concurrency: 4, repeatable: true })).toThrow(
    /concurrency is 4; give it with the first event of the name.*repeatable is true/,
  );
  expect(() => add('fourth', { onDead: 'park' })).toThrow("write 'park' for all events of a name, or for none");
  expect(() => add('fourth', { onDead: 'wait' as never })).toThrow('onDead is "wait"');
});

test('a handler waits a day for outages unless its policy counts every failure: a named one, one attempt, project() [S4.2] [X.10]', () => {
  const day = 86_400_000;
  expect(registered({})?.maxOutageMs).toBe(day);
  expect(registered({ policy: { maxAttempts: 3 } })?.maxOutageMs).toBe(day);
  expect(registered({ policy: policy({ maxAttempts: 3 }) })?.maxOutageMs).toBe(day);
  expect(registered({ policy: eventHandler })?.maxOutageMs).toBe(0);
  expect(registered({ policy: webhookDelivery })?.maxOutageMs).toBe(0);
  expect(registered({ policy: { maxAttempts: 1 } })?.maxOutageMs).toBe(0);
  expect(registered({ policy: eventHandler, maxOutageMs: 60_000 })?.maxOutageMs).toBe(60_000);
  expect(registered({ maxOutageMs: 0 })?.maxOutageMs).toBe(0);
  expect(() => registered({ maxOutageMs: -1 })).toThrow(/maxOutageMs/);
});
