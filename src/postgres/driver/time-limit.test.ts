import { expect, test } from 'vitest';
import { virtualTime } from '../../testing/virtual-time.ts';
import { ANSWER_TIMEOUT_MS, withinLimit } from './time-limit.ts';

test('an answer in time is given, and leaves no timer', async () => {
  const time = virtualTime();
  expect(await withinLimit(time, Promise.resolve('rows'), () => undefined)).toBe('rows');
  expect(time.pendingTimers).toBe(0);
});

test('no answer in time is a timeout, and what carried it is given up first', async () => {
  const time = virtualTime();
  const told: string[] = [];
  const waiting = withinLimit(time, new Promise(() => undefined), () => told.push('given up'));
  const failed = waiting.catch((error: unknown) => error);
  await time.advance(ANSWER_TIMEOUT_MS - 1);
  expect(told).toEqual([]);
  await time.advance(1);
  expect(await failed).toMatchObject({ code: 'DATABASE_TIMEOUT' });
  expect(told).toEqual(['given up']);
});
