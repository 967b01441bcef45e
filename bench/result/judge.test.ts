import { describe, expect, test } from 'vitest';
import { contestantOf } from './contestant.ts';
import { formatNumber, formatRatio, formatValue } from './format.ts';
import { judge, judgeByRound, judgeValue } from './judge.ts';

const rate = (name: string, ...rounds: number[]) => contestantOf({ name, role: 'peer', rounds });
const cost = (name: string, ...rounds: number[]) => contestantOf({ name, role: 'peer', unit: 'ns', rounds });

describe('a result of the bench', () => {
  test('a contestant has the middle of its rounds and their range, and no range where there was one', () => {
    expect(rate('a', 3, 1, 2)).toMatchObject({ value: 2, spread: [1, 3] });
    expect(rate('a', 3)).not.toHaveProperty('spread');
  });

  test('ours is compared with the best of the others: the greatest rate, the smallest cost', () => {
    expect(judge(rate('ours', 30), [rate('a', 10), rate('b', 20)])).toEqual({ against: 'b', role: 'peer', ratio: 1.5 });
    expect(judge(cost('ours', 10), [cost('a', 40), cost('b', 20)])).toEqual({ against: 'b', role: 'peer', ratio: 2 });
    expect(() => judge(rate('ours', 1), [])).toThrow('nobody to compare');
  });

  test('a goal is reached from its ratio on, and by a value below or at its limit', () => {
    expect(judge(rate('ours', 30), [rate('a', 10)], 3)).toMatchObject({ goal: '≥ 3', isReached: true });
    expect(judge(rate('ours', 29), [rate('a', 10)], 3)).toMatchObject({ isReached: false });
    expect(judgeValue(5, '≤', 5, 'ms', 'p50')).toEqual({ goal: 'p50 ≤ 5 ms', isReached: true });
    expect(judgeValue(250, '<', 250, 'MB')).toEqual({ goal: '< 250 MB', isReached: false });
  });

  test('a ratio by rounds is the middle of those of the rounds, with their range', () => {
    expect(judgeByRound([10, 20, 90], rate('a', 1), [10, 10, 30], 2)).toMatchObject({
      ratio: 2,
      ratioSpread: [1, 3],
      isReached: true,
    });
    expect(judgeByRound([10], rate('a', 1), [10])).not.toHaveProperty('ratioSpread');
  });

  test('numbers and ratios are rounded in one way everywhere', () => {
    expect([0.5, 1.626, 9.994, 12.34, 123.4].map(formatRatio)).toEqual(['0.50', '1.63', '9.99', '12.3', '123']);
    expect([0, 2.94, 3, 38_214.4].map(formatNumber)).toEqual(['0', '2.9', '3', '38,214']);
    expect([formatValue(38_214, '/s'), formatValue(2.94, 'ms'), formatValue(-433, 'KiB')]).toEqual([
      '38,214/s',
      '2.9 ms',
      '-433 KiB',
    ]);
  });
});
