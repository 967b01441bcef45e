import { expect, test } from 'vitest';
import { virtualTime } from '../../testing/virtual-time.ts';
import { StatementActivity } from './statement-activity.ts';

test('time without a statement is counted from the end of the last one, and not while one runs', async () => {
  const time = virtualTime();
  const activity = new StatementActivity(time);
  await time.advance(5);
  expect(activity.restedMs).toBe(5);
  activity.begun();
  activity.begun();
  await time.advance(50);
  expect(activity.restedMs).toBe(0);
  activity.ended();
  await time.advance(50);
  expect(activity.restedMs).toBe(0);
  activity.ended();
  await time.advance(7);
  expect(activity.restedMs).toBe(7);
});

test('work that asks for nothing is given up when its rest is too long, however long it lasted before', async () => {
  const time = virtualTime();
  const activity = new StatementActivity(time);
  const work = activity.within(100, new Promise(() => undefined), () => new Error('rested'));
  const ended = work.catch((error: unknown) => error);
  let isOver = false;
  void ended.then(() => (isOver = true));
  for (let i = 0; i < 5; i += 1) {
    await time.advance(99);
    activity.begun();
    await time.advance(300);
    activity.ended();
  }
  await time.advance(99);
  expect(isOver).toBe(false);
  await time.advance(1);
  expect(await ended).toMatchObject({ message: 'rested' });
  expect(time.pendingTimers).toBe(0);
});

test('work that ends is given, and leaves no timer behind', async () => {
  const time = virtualTime();
  const activity = new StatementActivity(time);
  expect(await activity.within(100, Promise.resolve('done'), () => new Error('rested'))).toBe('done');
  const failing = Promise.reject(new Error('own'));
  await expect(activity.within(100, failing, () => new Error('rested'))).rejects.toThrow('own');
  expect(time.pendingTimers).toBe(0);
});
