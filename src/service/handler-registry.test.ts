import { expect, test } from 'vitest';
import { event } from '../outbox/event.ts';
import type { HandlerDefinition, HandlerOptions } from '../relay/handler.ts';
import { eventHandler } from '../retry/policies.ts';
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
