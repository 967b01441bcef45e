import { join } from 'node:path';
import { type BuildChange, changedBuild } from '../support/changed-build.ts';

/** A fault of the built package. */
export interface BrokenBuild extends BuildChange {
  readonly what: string;
}

/** The five faults that a system of this kind is most easily built with. */
export const BROKEN_BUILDS = {
  noFence: {
    what: 'without a fence',
    file: 'postgres/relay/commit.js',
    text: 'if (seqs.length < targets.length)',
    instead: 'if (false)',
  },
  ackBeforeEffect: {
    what: 'that completes before the effect',
    file: 'postgres/relay/commit.js',
    text: 'await driver.transaction(limitMs(), run, complete);',
    instead: `await driver.transaction(limitMs(), async () => undefined, complete);
      await driver.transaction(limitMs(), run, async () => undefined);`,
  },
  noInbox: {
    what: 'without an inbox',
    file: 'postgres/receive.js',
    text: 'seen.id = m.id and seen.times = 1)',
    instead: 'seen.id = m.id)',
  },
  cursorPastGap: {
    what: 'whose cursor goes past a gap',
    file: 'postgres/relay/read.js',
    text: `parts.late.push(decodeDelivery(row, 1, 'ready'));`,
    instead: '',
  },
  doubleReplay: {
    what: 'that replays what was done',
    file: 'postgres/operator/message-functions.js',
    text: 'where d.id = p_id and d.outcome = 0 and d.handler = any (v_closed)',
    instead: 'where false and d.handler = any (v_closed)',
  },
} satisfies Record<string, BrokenBuild>;

/** The program of a copy of the built package with one fault, or none. */
export function buildWith(broken: BrokenBuild | undefined): string {
  return join(changedBuild(broken), 'dist', 'cli', 'main.js');
}
