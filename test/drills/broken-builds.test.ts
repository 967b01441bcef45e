import { expect } from 'vitest';
import { runHoldfast } from '../cli/holdfast-process.ts';
import { needs } from '../support/needs.ts';
import { BROKEN_BUILDS, type BrokenBuild, buildWith } from './broken-builds.ts';
import type { LedgerReport } from '../../src/drills/ledger.ts';

const test = needs('postgres', 'redis');

interface Case {
  readonly broken: BrokenBuild;
  /** The fault that shows it, alone: all others would only take time. */
  readonly args: readonly string[];
  /** Lines of the ledger of which at least one must not hold. */
  readonly shows: readonly string[];
}

const CASES: readonly Case[] = [
  { broken: BROKEN_BUILDS.noFence, args: ['--fault', 'hang-worker'], shows: ['second effects'] },
  {
    broken: BROKEN_BUILDS.ackBeforeEffect,
    args: ['--fault', 'failure'],
    shows: ['effects lost'],
  },
  { broken: BROKEN_BUILDS.noInbox, args: ['--fault', 'duplicate', '--via', 'redis'], shows: ['second effects'] },
  { broken: BROKEN_BUILDS.cursorPastGap, args: ['--fault', 'late-commit'], shows: ['effects lost'] },
  { broken: BROKEN_BUILDS.doubleReplay, args: ['--fault', 'replay'], shows: ['second effects'] },
];

/** What the drill of a build says. */
async function drillOf(
  broken: BrokenBuild | undefined,
  args: readonly string[],
  { postgres, redis }: { readonly postgres: { url: string }; readonly redis: { url: string } },
): Promise<{ readonly code: unknown; readonly report: LedgerReport; readonly err: string }> {
  const broker = args.includes('redis') ? ['--broker', redis.url] : [];
  const usual = ['--workers', '2', '--messages', '200', '--wait', '3s', '--url', postgres.url, '--json'];
  const given = [...usual, ...args, ...broker];
  const { code, out, err } = await runHoldfast(['drill', 'chaos', ...given], { bin: buildWith(broken) });
  const answer = JSON.parse(out) as { readonly drills: readonly [LedgerReport] };
  return { code, report: answer.drills[0], err };
}

for (const { broken, args, shows } of CASES) {
  test(`a drill catches a build ${broken.what} [X.11]`, async ({ postgres, redis }) => {
    const { code, report } = await drillOf(broken, args, { postgres, redis });
    expect(report.problem).toMatch(/not as expected/);
    expect(report.checked.filter(({ held }) => !held).map(({ what }) => what)).toEqual(
      expect.arrayContaining([...shows]),
    );
    expect(code).toBe(1);
  });
}

test('the build as it is passes the drills that catch the broken ones [X.11]', async ({ postgres, redis }) => {
  const faults = ['hang-worker', 'failure', 'duplicate', 'late-commit', 'replay'].flatMap((fault) => [
    '--fault',
    fault,
  ]);
  const { code, report } = await drillOf(undefined, [...faults, '--via', 'redis'], { postgres, redis });
  expect({ code, problem: report.problem, failed: report.checked.filter(({ held }) => !held) }).toEqual({
    code: 0,
    problem: null,
    failed: [],
  });
});
