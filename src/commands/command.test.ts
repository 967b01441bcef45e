import { expect, test } from 'vitest';
import { z } from 'zod';
import { isHoldfastError } from '../kernel/error.ts';
import { command } from './command.ts';
import { durableCommands } from './durable-commands.ts';
import { newCommand } from './new-command.ts';

const run = command('module.run', {
  schema: z.object({ runId: z.string(), secret: z.string().optional() }),
  target: (payload) => payload.runId,
  key: (payload) => `workflow:u:${payload.runId}:run:v1`,
  onExhausted: (payload) => (payload.runId === 'careful' ? 'blocked' : 'dlq'),
});
const sender = { service: 'growth', generation: 3 };

test('a command carries its target as the key of its message, its key, and who asked for what [S0.7] [S0.12]', async () => {
  const made = await newCommand('send()', sender, run, { runId: 'careful' }, { requestId: 'r-1', userId: undefined });
  expect(made).toMatchObject({
    name: 'module.run',
    target: 'careful',
    module: 'module.run',
    onExhausted: 'blocked',
    correlation: { requestId: 'r-1', actorKey: 'careful', moduleId: 'module.run' },
    message: {
      type: 'command:module.run',
      takenAs: '!growth/command:module.run',
      key: 'careful',
      idempotencyKey: 'workflow:u:careful:run:v1',
      source: 'growth',
      generation: 3,
      correlationId: 'r-1',
      headers: { requestId: 'r-1', actorKey: 'careful', 'holdfast-on-exhausted': 'blocked' },
    },
  });
  const plain = await newCommand('send()', sender, run, { runId: 'r' }, { actorKey: 'own' });
  expect(plain.message.headers).toEqual({ actorKey: 'own', moduleId: 'module.run' });
  expect(plain.message.correlationId).toBe(plain.message.id);
});

test('what cannot be a command is refused with all that is wrong, and without values', async () => {
  expect(() => command('module run', { key: 'k', onExhausted: 'retry', attempts: 3 } as never)).toThrow(
    /name is "module run".*attempts is not an option.*target is undefined.*key is a string of 1 character;.*onExhausted is "retry"/,
  );
  expect(() => command('x', undefined as never)).toThrow('options is undefined');
  const empty = command('x', { target: () => '', key: () => 'k'.repeat(256), module: () => 'a\u0000' });
  const wrong = newCommand('send()', sender, empty, {}, { user: 'u', userId: '' } as never);
  await expect(wrong).rejects.toThrow(
    /send\(\) of "x" .*target is an empty string.*module is a string of 2.*key is a string of 256.*correlation\.user is not an option.*correlation\.userId/,
  );
  const error: unknown = await newCommand('send()', sender, run, { runId: 7, secret: 'hunter2' } as never, {}).catch(
    (thrown: unknown) => thrown,
  );
  expect(isHoldfastError(error, 'PAYLOAD_INVALID') && !error.message.includes('hunter2')).toBe(true);
  await expect(newCommand('send()', sender, 'module.run' as never, {}, {})).rejects.toThrow(
    `command is "module.run"; pass what command('module.run', …) gives`,
  );
  expect(() => durableCommands({ holdfast: {}, store: {}, concurrency: 0 } as never)).toThrow(
    /holdfast is an object.*store is an object.*concurrency is 0/,
  );
});
