import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { judgeRun, type RunOutcome, type SkipList, type Verdict } from './judge-run.ts';
import { OUTCOME_FILE } from './outcome-reporter.ts';
import { ROOT, runTool, wasInterrupted } from './run-tool.ts';
import { BUILD, CHECKS, PACKAGE_CHECKS, printStep, runSteps } from './steps.ts';

// npm test                        the whole gate
// npm test -- --verbose           the same, with the output of the steps that passed
// npm test -- --full              the same, with the full amounts of the storms and simulations
// npm test -- src/retry -t cap    a quick run: what follows goes to vitest, and only the build goes before
const args = process.argv.slice(2);
const verbose = args.includes('--verbose');
const amount = args.includes('--full') ? 'full' : 'gate';
const filters = args.filter((arg) => !['--verbose', '--full'].includes(arg));
const partial = filters.length > 0;

const started = performance.now();
const before = await runSteps(partial ? [BUILD] : CHECKS, verbose);
const tests = before.built ? await runTests() : undefined;
const after = partial || !before.built ? { passed: 0, failed: 0 } : await runSteps(PACKAGE_CHECKS, verbose);

for (const problem of tests?.problems ?? []) console.log(`FAIL  ${problem}`);
if (wasInterrupted()) console.log('FAIL  the run was interrupted');
for (const row of tests?.notProven ?? []) console.log(`NOT PROVEN  ${row}`);
const passed = before.passed + after.passed + (tests?.passed ?? 0);
const failed = before.failed + after.failed + (tests?.failed ?? 0) + (wasInterrupted() ? 1 : 0);
const skipped = tests?.skipped ?? 0;
console.log(`${((performance.now() - started) / 1000).toFixed(0)} s in all`);
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
process.exitCode = failed === 0 ? 0 : 1;

async function runTests(): Promise<Verdict> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-outcome-'));
  const file = join(folder, 'outcome.json');
  try {
    const reporters = ['--reporter=default', '--reporter=./scripts/outcome-reporter.ts', '--silent=passed-only'];
    const run = await runTool(['vitest', 'run', ...reporters, ...filters], {
      live: true,
      env: { [OUTCOME_FILE]: file, HOLDFAST_TEST_AMOUNT: amount },
    });
    const skips = JSON.parse(readFileSync(join(ROOT, 'test', 'skips.json'), 'utf8')) as SkipList;
    const verdict = judgeRun(readOutcome(file), skips, partial);
    // vitest knows of failures that belong to no test, such as a server that could not be stopped.
    const unexplained = !run.ok && verdict.failed === 0;
    printStep(run.ok && verdict.failed === 0, 'tests', run.ms);
    if (!unexplained) return verdict;
    return { ...verdict, failed: 1, problems: [...verdict.problems, 'vitest ended with an error, see above'] };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readOutcome(file: string): RunOutcome {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as RunOutcome;
  } catch {
    return { tests: [], broken: [], unhandled: ['vitest ended without reporting'], interrupted: false };
  }
}
