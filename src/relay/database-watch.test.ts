import { expect, test } from 'vitest';
import { HoldfastError } from '../kernel/error.ts';
import { DatabaseWatch } from './database-watch.ts';

function watched(...answers: readonly (string | Error)[]): { watch: DatabaseWatch; asked: () => number } {
  let asked = 0;
  const incarnation = async (): Promise<string> => {
    const answer = answers[asked++] ?? '';
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return { watch: new DatabaseWatch({ incarnation }), asked: () => asked };
}

const lost = new Error('terminating connection');

test('a lost connection that a pool gives out again is not taken for a database that is away [X.3]', async () => {
  expect(await watched(lost, 'first start').watch.look()).toBe('first start');
  expect(await watched(lost, lost, 'first start').watch.look()).toBeUndefined();
});

test('a database that is silent is waited for once', async () => {
  const { watch, asked } = watched(new HoldfastError('DATABASE_TIMEOUT', { timeoutMs: 1 }), 'first start');
  expect(await watch.look()).toBeUndefined();
  expect(asked()).toBe(1);
});
