import { grouped, outcomeOf, rowsOf } from '../result/describe.ts';
import { formatPlace, formatValue } from '../result/format.ts';
import type { Result } from '../result/result.ts';
import { escapeCell } from './escape.ts';
import { factsOf, machineLine, QUICK_LINE, timeLine } from './facts.ts';
import type { Report, TopicReport } from './report.ts';

/** So many of a group are shown, the slowest first. All are in the JSON. */
export const SHOWN = 12;

/** The whole report as a page. */
export function renderMarkdown(report: Report): string {
  const topics = report.topics.map((topic) => `## ${topic.title}\n\n${renderTopic(topic, report.isQuick)}`);
  return `# Bench\n\n\`${report.command}\` on ${machineLine(report)}.\n\n${topics.join('\n\n')}\n`;
}

/** What stands under the heading of a topic: when and with what, its tables, and what has to be known to read them. */
export function renderTopic(topic: TopicReport, isQuick: boolean): string {
  const head = [...(isQuick ? [`**${QUICK_LINE}**`] : []), `${timeLine(topic)}; ${factsOf(topic).join(', ')}.`].join(
    '\n\n',
  );
  if (topic.failure !== undefined) return `${head}\n\n**It failed:** ${escapeCell(topic.failure)}`;
  const tables = grouped(topic.results).map(({ group, results }) =>
    group === undefined ? renderResults(results) : renderGroup(group, results),
  );
  return [head, ...tables].join('\n\n');
}

function renderResults(results: readonly Result[]): string {
  const rows = results
    .flatMap(rowsOf)
    .map(({ measure, ours, others, ratio, goal, outcome }) => [
      measure,
      ours,
      others || '–',
      ratio || '–',
      goal === '' ? 'none' : `${goal}: ${outcome}`,
    ]);
  const series = results.filter(({ along }) => along !== undefined).map(renderSeries);
  const notes = results.filter(({ note }) => note !== undefined).map(({ measure, note }) => `- *${measure}:* ${note}`);
  return [
    table(['measure', 'ours', 'others', 'ratio', 'goal'], rows),
    ...series,
    ...(notes.length > 0 ? [notes.join('\n')] : []),
  ].join('\n\n');
}

/** Who has what at each place. */
function renderSeries({ along = '', contestants }: Result): string {
  const places = [...new Set(contestants.map(({ at }) => at ?? ''))];
  const names = [...new Set(contestants.map(({ name }) => name))];
  const cellAt = (name: string, place: number | string): string => {
    const found = contestants.find((one) => one.name === name && (one.at ?? '') === place);
    return found === undefined ? '–' : formatValue(found.value, found.unit);
  };
  const rows = names.map((name) => [name].concat(places.map((place) => cellAt(name, place))));
  return table([along, ...places.map(formatPlace)], rows);
}

function renderGroup(group: string, results: readonly Result[]): string {
  const names = results[0]?.contestants.map(({ name }) => name) ?? [];
  const rows = results.slice(0, SHOWN).map(({ measure, contestants, verdicts }) => {
    const numbers = contestants.map(({ value, unit }) => formatValue(value, unit));
    const judged = verdicts.map((verdict) => `${verdict.goal}: ${outcomeOf(verdict)}`).join(', ');
    return [measure].concat(numbers, judged);
  });
  return [table([`${group}, the slowest first`, ...names, 'goal'], rows), ...restOf(results)].join('\n\n');
}

/** What is not shown of a group. */
export function restOf(results: readonly Result[]): string[] {
  const [next] = results.slice(SHOWN);
  if (next === undefined) return [];
  const slowest = next.contestants.map(({ name, value, unit }) => `${name} ${formatValue(value, unit)}`).join(', ');
  const missed = results
    .slice(SHOWN)
    .filter(({ verdicts }) => verdicts.some(({ isReached }) => isReached === false)).length;
  return [
    `And ${results.length - SHOWN} more, of which the slowest has ${slowest}${missed > 0 ? ` and ${missed} miss their goal` : ''}.`,
  ];
}

/** A table of Markdown. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [rowOf(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(rowOf)].join('\n');
}

function rowOf(cells: readonly string[]): string {
  return `| ${cells.map(escapeCell).join(' | ')} |`;
}
