/** One test as vitest left it. `pending` means that it never ran, because something around it broke. */
export interface TestOutcome {
  readonly file: string;
  readonly title: string;
  readonly state: 'passed' | 'failed' | 'skipped' | 'pending';
  /** What the test said when it skipped itself. */
  readonly note?: string;
}

export interface RunOutcome {
  readonly tests: readonly TestOutcome[];
  /** Files that could not be loaded, and suites whose set-up failed. */
  readonly broken: readonly { readonly file: string; readonly message: string }[];
  /** Errors that no test caught. */
  readonly unhandled: readonly string[];
  readonly interrupted: boolean;
}

/** test/skips.json: what may stay unproven, and why. */
export interface SkipList {
  /** Full title → reason. */
  readonly tests: Readonly<Record<string, string>>;
  /** Service → why its tests may be skipped where it cannot be had. Never in CI: there it is a failure. */
  readonly services: Readonly<Record<string, string>>;
}

export interface Verdict {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** One line for each thing that is wrong beyond what vitest has already shown. */
  readonly problems: readonly string[];
  /** One line for each skip that is allowed. */
  readonly notProven: readonly string[];
}

/** What a run proves. `partial` is a run of chosen files or titles: there a listed test may be absent. */
export function judgeRun(outcome: RunOutcome, skips: SkipList, partial: boolean): Verdict {
  const problems: string[] = [];
  const notProven: string[] = [];
  const count = (state: TestOutcome['state']): number => outcome.tests.filter((test) => test.state === state).length;
  const seen = new Set<string>();
  for (const test of outcome.tests) {
    if (test.state !== 'skipped') continue;
    seen.add(test.title);
    const service = test.note?.match(/^needs (\S+):/)?.[1];
    const reason = skips.tests[test.title];
    if (reason !== undefined) notProven.push(`${test.title}: ${reason}`);
    else if (service !== undefined && skips.services[service] !== undefined)
      notProven.push(`${test.title}: ${test.note}`);
    // A title filter skips everything it leaves out, without a word; those tests were not chosen, so they say nothing.
    else if (!partial || test.note !== undefined) {
      problems.push(`skipped, but not listed in test/skips.json: ${test.title} (${test.note ?? test.file})`);
    }
  }
  for (const title of partial ? [] : Object.keys(skips.tests)) {
    if (!seen.has(title)) problems.push(`listed in test/skips.json, but no test of that title was skipped: ${title}`);
  }
  for (const { file, message } of outcome.broken) problems.push(`could not run: ${file}: ${firstLine(message)}`);
  for (const message of outcome.unhandled) problems.push(`an error nobody caught: ${firstLine(message)}`);
  if (outcome.interrupted) problems.push('the run was interrupted');
  const pending = outcome.interrupted ? 0 : count('pending');
  if (count('passed') + count('failed') === 0) problems.push('no test ran');
  return {
    passed: count('passed'),
    failed: count('failed') + pending + problems.length,
    skipped: notProven.length,
    problems,
    notProven,
  };
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
