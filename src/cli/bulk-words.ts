import type { Bulk, BulkForecast } from '../operator/bulk.ts';
import type { DeadLetter } from '../operator/operator-records.ts';
import { CliError } from './cli-error.ts';
import type { Invocation } from './command.ts';
import { counted } from './counted.ts';
import { formatAge } from './duration.ts';

export function unknownBulk(id: string): CliError {
  return new CliError(
    `there is no bulk operation ${id}; holdfast bulk lists them. A plan that was not started is forgotten after an hour`,
  );
}

/** How much of each, in words: `12 of 40 ended: 10 succeeded, 2 failed`. */
export function tallyOf({ total, counts }: Bulk): string {
  const ended = total - counts.selected - counts.started;
  const parts = (['succeeded', 'failed', 'discarded', 'skipped', 'dropped'] as const)
    .filter((name) => counts[name] > 0)
    .map((name) => `${counts[name].toLocaleString('en-US')} ${name}`);
  return `${ended.toLocaleString('en-US')} of ${total.toLocaleString('en-US')} ended${parts.length === 0 ? '' : `: ${parts.join(', ')}`}`;
}

/** One operation, field by field. */
export function describeBulk({ io, output }: Invocation, bulk: Bulk): void {
  const nowMs = io.effects.now().wallMs;
  const age = (at: Date | undefined): string | undefined => at && formatAge(at.getTime(), nowMs);
  const filter = Object.entries(bulk.filter)
    .filter(([, value]) => value !== undefined)
    .map(
      ([name, value]) =>
        `${name} ${value instanceof Date ? value.toISOString() : typeof value === 'string' ? value : JSON.stringify(value)}`,
    );
  output.fields([
    ['operation', bulk.id],
    [
      'does',
      `${bulk.verb} ${counted(bulk.total, bulk.verb === 'republish' ? 'message' : 'dead letter')}${bulk.isCut ? ', of more that fitted' : ''}`,
    ],
    ['state', `${bulk.state}${bulk.pausedFor === undefined ? '' : `: ${bulk.pausedFor}`}`],
    ['progress', tallyOf(bulk)],
    ['which', filter.join(', ')],
    ['canary', bulk.canary === 0 ? undefined : bulk.canary],
    ['rate', bulk.perSecond === undefined ? undefined : `${bulk.perSecond} a second`],
    ['generation', bulk.generation],
    ['planned', `${age(bulk.createdAt) ?? ''} by ${bulk.actor}`],
    ['started', age(bulk.startedAt)],
    ['ended', age(bulk.endedAt)],
    ['reason', bulk.reason],
  ]);
}

/** What would happen. */
export function showPlan(
  { output }: Invocation,
  {
    bulk,
    sample,
    forecast,
    completeSince,
  }: {
    readonly bulk: Bulk;
    readonly sample: readonly DeadLetter[];
    readonly forecast: readonly BulkForecast[];
    readonly completeSince?: Date | undefined;
  },
): void {
  const isRepublish = bulk.verb === 'republish';
  const what = isRepublish ? 'message' : 'dead letter';
  if (isRepublish) output.line(historyOf(completeSince, bulk.filter.since));
  if (bulk.total === 0) {
    output.line(isRepublish ? 'No published message fits.' : 'No dead letter fits.');
    return;
  }
  const { paint } = output;
  output.line(`${DOES[bulk.verb]} ${counted(bulk.total, what)}${bulk.isCut ? ', and more would fit' : ''}:`);
  output.table(forecast, [
    { title: 'HANDLER', value: (one) => `${one.service}/${one.handler}`, shrinkTo: 12 },
    { title: 'HOW MANY', value: (one) => one.count, align: 'right' },
    { title: 'KEYS', value: (one) => one.keys, align: 'right' },
    { title: 'BEHIND', value: (one) => one.behind, align: 'right' },
    {
      title: 'WORKERS',
      value: (one) => one.workers,
      align: 'right',
      paint: (text, one) => (one.workers === 0 ? paint.red(text) : text),
    },
    {
      title: 'THEN',
      value: thenOf,
      paint: (text, one) => (thenOf(one) === 'runs at once' ? text : paint.yellow(text)),
    },
  ]);
  if (sample.length === 0) return;
  output.line();
  output.table(sample, [
    { title: 'SAMPLE', value: (one) => one.id },
    { title: 'TYPE', value: (one) => one.type, shrinkTo: 8 },
    { title: 'KEY', value: (one) => one.key, shrinkTo: 4 },
    { title: 'ERROR', value: ({ error }) => error && `${error.code ?? error.name}: ${error.message}`, shrinkTo: 16 },
  ]);
}

const DOES = { replay: 'Replays', discard: 'Discards', republish: 'Publishes again' } as const;

/** Whether the history still has all that is asked for. */
function historyOf(completeSince: Date | undefined, since: Date | undefined): string {
  if (completeSince === undefined || (since !== undefined && since >= completeSince))
    return 'The history holds everything that was published since then.';
  return `The history is complete since ${completeSince.toISOString()} only: what was published before is forgotten in part, and cannot be published again.`;
}

function thenOf({ workers, isPaused, isBreakerOpen }: BulkForecast): string {
  if (workers === 0) return 'waits: no live worker';
  if (isPaused) return 'waits: handler paused';
  return isBreakerOpen ? 'waits: breaker open' : 'runs at once';
}
