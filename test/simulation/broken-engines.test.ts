import { describe, expect, test } from 'vitest';
import {
  completionBeforeEffect,
  doubleReplay,
  databaseBlamed,
  faultsForgotten,
  fenceSkipped,
  generationIgnored,
  inboxForgotten,
  lateRowsLast,
  lateRowsOfTheListOnly,
  leaseForgotten,
  noLateRows,
  parkedFromTheEnd,
  proberMissed,
  rerunForgotten,
  timeoutForgotten,
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
    {
      what: 'that parks from the end of a key',
      sabotage: parkedFromTheEnd,
      temper: { failing: 0.3, hasty: 1, bursts: 2 },
      shows: /took effect after it/,
    },
    { what: 'that takes a rerun for the first run', sabotage: rerunForgotten, shows: /has 2 effects|never ran/ },
    { what: 'that stores a message each time it comes', sabotage: inboxForgotten, shows: /ended as runs \[0,0/ },
    { what: 'that replays what was done', replay: doubleReplay, shows: /ended as runs \[0,0|not finished/ },
    { what: 'that serves another generation', sabotage: generationIgnored, shows: /was handled by one of/ },
    { what: 'that waits for a prober that is dead', sabotage: proberMissed, shows: /not finished/ },
    { what: 'that counts no lost connections', sabotage: faultsForgotten, shows: /nothing counted/ },
    { what: 'that lays each lost connection to the database', sabotage: databaseBlamed, shows: /not finished/ },
    { what: 'that lets attempts take for ever', changeHandlers: timeoutForgotten, shows: /not finished/ },
  ];
  for (const { what, shows, ...broken } of cases) {
    test(`${what} [X.12]`, async () => {
      const found = await findBroken({ from: 1, count: 500, enough: 1 }, broken);
      expect(found.broken[0]?.problems.join('\n')).toMatch(shows);
    });
  }
});
