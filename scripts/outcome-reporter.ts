import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';
import type { RunOutcome, TestOutcome } from './judge-run.ts';
import { ROOT } from './run-tool.ts';

/** Where the gate wants the outcome of a run; set by scripts/test.ts. */
export const OUTCOME_FILE = 'HOLDFAST_TEST_OUTCOME';

/** A vitest reporter that writes what scripts/judge-run.ts needs to know, and prints nothing. */
export default class OutcomeReporter implements Reporter {
  onTestRunEnd(
    modules: readonly TestModule[],
    unhandled: readonly { readonly message: string }[],
    reason: 'passed' | 'interrupted' | 'failed',
  ): void {
    const tests: TestOutcome[] = [];
    const broken: { file: string; message: string }[] = [];
    for (const module of modules) {
      const file = relative(ROOT, module.moduleId);
      for (const error of module.errors()) broken.push({ file, message: error.message });
      for (const suite of module.children.allSuites()) {
        for (const error of suite.errors()) broken.push({ file, message: `${suite.fullName}: ${error.message}` });
      }
      for (const test of module.children.allTests()) {
        const result = test.result();
        const note = result.state === 'skipped' ? result.note : undefined;
        tests.push({ file, title: test.fullName, state: result.state, ...(note === undefined ? {} : { note }) });
      }
    }
    const outcome: RunOutcome = {
      tests,
      broken,
      unhandled: unhandled.map((error) => error.message),
      interrupted: reason === 'interrupted',
    };
    const target = process.env[OUTCOME_FILE];
    if (target !== undefined) writeFileSync(target, JSON.stringify(outcome));
  }
}
