import { describe, expect, test } from 'vitest';
import {
  completionBeforeEffect,
  fenceSkipped,
  lateRowsLast,
  lateRowsOfTheListOnly,
  leaseForgotten,
  noLateRows,
} from './broken-engines.ts';
import { findBroken } from './many-seeds.ts';

describe('the simulation catches an engine', () => {
  const cases = [
    { what: 'whose writes are not fenced', sabotage: fenceSkipped, shows: /old token/ },
    {
      what: 'that completes before the effect',
      sabotage: completionBeforeEffect,
      shows: /delivered and has 0 effects/,
    },
    { what: 'that forgets that its lease is lost', sabotage: leaseForgotten, shows: /old token/ },
    { what: 'that reads by a cursor alone', sabotage: noLateRows, shows: /not finished|took effect after it/ },
    {
      what: 'that looks for late rows in the list of open transactions only',
      sabotage: lateRowsOfTheListOnly,
      shows: /not finished|took effect after it/,
    },
    { what: 'that puts late rows behind new ones', sabotage: lateRowsLast, shows: /took effect after it/ },
  ];
  for (const { what, sabotage, shows } of cases) {
    test(`${what} [X.12]`, { timeout: 120_000 }, async () => {
      const { broken } = await findBroken({ from: 1, count: 500, enough: 1 }, { sabotage });
      expect(broken[0]?.problems.join('\n')).toMatch(shows);
    });
  }
});
