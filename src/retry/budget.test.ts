import { describe, expect, test } from 'vitest';
import { virtualTime } from '../testing/virtual-time.ts';
import { retryBudget } from './budget.ts';

describe('retryBudget', () => {
  test('is spent by retries and filled by calls [F.22]', () => {
    const budget = retryBudget({ ratio: 0.2, perSecond: 0, capacity: 2, effects: virtualTime() });
    expect([budget.withdraw(), budget.withdraw(), budget.withdraw()]).toEqual([true, true, false]);
    for (let call = 0; call < 4; call++) budget.deposit();
    expect(budget.withdraw()).toBe(false);
    budget.deposit();
    expect(budget.withdraw()).toBe(true);
  });

  test('ten deposits of a tenth are one retry [F.22]', () => {
    const budget = retryBudget({ ratio: 0.1, perSecond: 0, capacity: 1, effects: virtualTime() });
    expect(budget.withdraw()).toBe(true);
    for (let call = 0; call < 10; call++) budget.deposit();
    expect(budget.available()).toBe(1);
    expect(budget.withdraw()).toBe(true);
  });

  test('lets a quiet client retry by the second [F.22]', async () => {
    const time = virtualTime();
    const budget = retryBudget({ ratio: 0, perSecond: 2, capacity: 1, effects: time });
    expect(budget.withdraw()).toBe(true);
    expect(budget.withdraw()).toBe(false);
    await time.advance(500);
    expect(budget.withdraw()).toBe(true);
  });

  test('never holds more than its capacity', async () => {
    const time = virtualTime();
    const budget = retryBudget({ capacity: 3, effects: time });
    await time.advance(3_600_000);
    for (let call = 0; call < 100; call++) budget.deposit();
    budget.refund();
    expect(budget.available()).toBe(3);
  });

  test('gives back what was not used [F.22]', () => {
    const budget = retryBudget({ perSecond: 0, capacity: 1, effects: virtualTime() });
    budget.withdraw();
    budget.refund();
    expect(budget.available()).toBe(1);
  });

  test('refuses numbers that cannot work, all at once [F.6]', () => {
    expect(() => retryBudget({ ratio: -1, perSecond: Number.NaN, capacity: 0 })).toThrow(
      /ratio is -1.*perSecond is NaN.*capacity is 0/,
    );
  });
});
