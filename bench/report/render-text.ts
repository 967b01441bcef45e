import type { Report, TopicReport } from './report.ts';
import { grouped, rowsOf } from '../result/describe.ts';
import { formatValue } from '../result/format.ts';
import type { Result } from '../result/result.ts';

/** A report for a terminal. */
export function renderText(report: Report): string {
  const { cores, processor, memoryGb, node } = report.machine;
  const quick = report.isQuick ? '\nA quick run: shows that everything works, and is no claim about speed.' : '';
  return `${cores} cores (${processor}), ${memoryGb} GB, Node ${node}${quick}\n${report.topics.map(renderTopic).join('\n')}`;
}

function renderTopic({ title, load, settings, packages, results, failure }: TopicReport): string {
  const facts = Object.entries({ ...settings, ...packages })
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
  const head = `\n${title}\nload ${load.before} before, ${load.after} after; ${facts}`;
  if (failure !== undefined) return `${head}\nFAILED: ${failure}`;
  return `${head}\n${grouped(results).map(renderGroup).join('\n')}`;
}

function renderGroup({ group, results }: { readonly group: string | undefined; readonly results: Result[] }): string {
  if (group === undefined) {
    const rows = results
      .flatMap(rowsOf)
      .map((row) => [row.measure, row.ours, row.others, row.ratio, row.goal, row.outcome.replace('missed', 'MISSED')]);
    return `\n${aligned([['measure', 'ours', 'others', 'ratio', 'goal', ''], ...rows])}`;
  }
  const rows = results.map(({ measure, contestants, verdicts }) => [
    measure,
    ...contestants.map(({ name, value, unit }) => `${name} ${formatValue(value, unit)}`),
    verdicts.some(({ isReached }) => isReached === false) ? 'MISSED' : '',
  ]);
  return `\n${group}, the slowest first\n${aligned(rows)}`;
}

/** Columns as wide as their widest cell. */
function aligned(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
