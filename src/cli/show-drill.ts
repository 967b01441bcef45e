import type { Checked, DrillReport } from '../drills/drill-report.ts';
import { formatDuration } from './duration.ts';
import type { Output } from './output.ts';

/** What was expected and seen, and below it in full what is not as expected. */
export function showChecked(output: Output, checked: readonly Checked[]): void {
  const { paint } = output;
  if (checked.length > 0) {
    output.line();
    output.table<Checked>(checked, [
      { title: 'CHECKED', value: ({ what }) => what, shrinkTo: 20 },
      { title: 'EXPECTED', value: ({ expected }) => expected, shrinkTo: 12 },
      { title: 'SEEN', value: ({ seen }) => seen, shrinkTo: 12 },
      {
        title: 'HELD',
        value: ({ held }) => (held ? 'yes' : 'no'),
        paint: (text, { held }) => (held ? paint.green(text) : paint.red(text)),
      },
    ]);
  }
  // A table cuts what is long, and there the difference may be.
  for (const { what, expected, seen, held } of checked) {
    if (held) continue;
    output.line();
    output.line(`${what}:`);
    output.fields([
      ['  expected', expected],
      ['  seen', seen],
    ]);
  }
}

/** Whether it held, and why not. */
export function showEnd(output: Output, { problem, tookMs }: Pick<DrillReport, 'problem' | 'tookMs'>): void {
  const { paint } = output;
  output.line();
  const end = problem === undefined ? paint.green('Held') : paint.red(`Did not hold: ${problem}`);
  output.line(`${end}, after ${formatDuration(tookMs)}.`);
  output.line();
}
