import { type Overview, OVERVIEW_RANGES, type OverviewPoint } from '../../operator/overview.ts';
import { EXIT } from '../cli-error.ts';
import type { Command, Invocation } from '../command.ts';
import { formatAge, formatDuration } from '../duration.ts';
import { openOperator } from '../open-operator.ts';
import { wordOf } from '../page-options.ts';
import { paintState } from '../paint.ts';
import { breakerTable } from './breakers.ts';

/** `holdfast overview`: is anything lost or late? */
export const overview: Command = {
  name: 'overview',
  summary: 'Is anything lost or late, and what needs somebody?',
  options: { range: { value: '<range>', summary: OVERVIEW_RANGES.join(', '), default: 'hour' } },
  examples: ['holdfast overview', 'holdfast overview --range day --json'],
  run: async (invocation) => {
    const { options, output } = invocation;
    const range = wordOf(options, 'range', OVERVIEW_RANGES);
    const seen = await (await openOperator(invocation)).overview({ range });
    output.answer(seen, () => show(invocation, seen));
    return EXIT.ok;
  },
};

const SUMS = ['sent', 'done', 'retried', 'dead', 'suppressed', 'refused'] as const;
const STEPS = '▁▂▃▄▅▆▇█';
const SPARKS = 30;

function show(
  invocation: Invocation,
  { verdict, attention, range, points, handlers, breakers, audit }: Overview,
): void {
  const { io, output } = invocation;
  const { paint } = output;
  const nowMs = io.effects.now().wallMs;
  output.line(paint.bold(attention.length === 0 ? paint.green(verdict) : paint.red(verdict)));
  for (const one of attention) output.fields([['•', one.text]]);
  output.line();
  if (points.length === 0) output.line(paint.dim('This database stores no history of numbers: no sums, no trends.'));
  else
    output.table(SUMS, [
      { title: `LAST ${range.toUpperCase()}`, value: (name) => name },
      { title: 'SUM', value: (name) => sumOf(points, name).toLocaleString('en-US'), align: 'right' },
      { title: 'TREND', value: (name) => sparks(points.map((point) => point[name])) },
    ]);
  output.line();
  if (handlers.length === 0) output.line('No handler has registered yet.');
  else
    output.table(handlers, [
      { title: 'HANDLER', value: (one) => `${one.service}/${one.handler}`, shrinkTo: 12 },
      { title: 'PENDING', value: (one) => one.pending, align: 'right' },
      {
        title: 'OLDEST',
        value: (one) => (one.oldestMs === undefined ? undefined : formatDuration(one.oldestMs)),
        align: 'right',
      },
      { title: 'WAITING', value: (one) => one.waiting, align: 'right' },
      {
        title: 'FAILED',
        value: (one) => one.failed,
        align: 'right',
        paint: (text, one) => (one.failed > 0 ? paint.red(text) : text),
      },
      { title: 'DONE/S', value: (one) => one.donePerSecond.toFixed(1), align: 'right' },
      {
        title: 'ERRORS',
        value: (one) => (one.errorShare === undefined ? undefined : `${Math.round(one.errorShare * 100)} %`),
        align: 'right',
      },
      { title: 'WORKERS', value: (one) => one.workers.length, align: 'right' },
      {
        title: 'STATE',
        value: (one) => (one.pausedAt === undefined ? 'on' : 'paused'),
        paint: (text) => paintState(paint, text.trim(), text),
      },
    ]);
  if (breakers.length > 0) {
    output.line();
    breakerTable(invocation, breakers);
  }
  for (const one of audit.slice(0, 3)) {
    output.line(
      paint.dim(`${formatAge(one.at.getTime(), nowMs)}: ${one.actor} ${one.verb} ${one.handler ?? ''}`.trimEnd()),
    );
  }
}

function sumOf(points: readonly OverviewPoint[], name: (typeof SUMS)[number]): number {
  return points.reduce((sum, point) => sum + point[name], 0);
}

/** The course of a number, drawn with blocks; the last step last. */
function sparks(values: readonly number[]): string {
  const width = Math.max(1, Math.ceil(values.length / SPARKS));
  const sums: number[] = [];
  for (let at = 0; at < values.length; at += width) {
    sums.push(values.slice(at, at + width).reduce((sum, one) => sum + one, 0));
  }
  const most = Math.max(1, ...sums);
  return sums.map((one) => (one === 0 ? ' ' : STEPS[Math.ceil((one / most) * STEPS.length) - 1])).join('');
}
