import type { DeadLetterFilter, MessageReplayOptions, Operator } from '../operator/operator.ts';
import type { Replayed, SkippedHandlers } from '../operator/operator-outcomes.ts';
import { watchBulk } from './bulk-watch.ts';
import { showPlan } from './bulk-words.ts';
import { CliError, EXIT, usageError } from './cli-error.ts';
import type { Invocation } from './command.ts';
import { confirm } from './confirm.ts';
import { counted } from './counted.ts';
import { collectDeadLetters } from './dead-letter-options.ts';
import { byWhom } from './open-operator.ts';
import type { Output } from './output.ts';
import type { OptionValues } from './option-values.ts';
import { progressOn } from './progress.ts';
import { describeRefusal } from './refusal.ts';

/** How many are replayed in one transaction: few enough that workers start on the first while the rest is written. */
const PIECE = 500;
/** The default of `--limit`. */
export const REPLAY_LIMIT = 100;
const MAX_LIMIT = 10_000;
const NONE_SKIPPED: SkippedHandlers = { notRepeatable: [], pending: [] };
const SLOWEST = 0.1;
const FASTEST = 10_000;

/** Replays the messages or dead letters with these ids. Exit code 1 if one of them was refused. */
export async function replayIds(
  invocation: Invocation,
  operator: Operator,
  ids: readonly string[],
  options: MessageReplayOptions,
): Promise<number> {
  const { io, output } = invocation;
  const by = byWhom(invocation);
  const results: (Replayed & { readonly id: string })[] = [];
  for (const id of ids) results.push({ id, ...(await operator.replay(id, by, options)) });
  const done = results.reduce((sum, one) => sum + (one.kind === 'replayed' ? one.count : 0), 0);
  output.answer({ replayed: done, results }, () => {
    if (done > 0) output.line(`${counted(done, 'delivery', 'deliveries')} will run again.`);
    for (const one of results) if (one.kind === 'replayed') sayWhatWasSkipped(output, one.skipped);
  });
  const refused = results.filter((one) => one.kind !== 'replayed');
  if (!output.isJson) {
    for (const one of refused) io.err(`${output.paint.red('error')}: ${describeRefusal(one, one.id)}\n`);
  }
  return refused.length === 0 ? EXIT.ok : EXIT.failed;
}

function sayWhatWasSkipped(output: Output, { notRepeatable, pending }: SkippedHandlers = NONE_SKIPPED): void {
  if (notRepeatable.length > 0)
    output.line(`Skipped ${notRepeatable.join(', ')}: succeeded already and not declared repeatable.`);
  if (pending.length > 0) output.line(`Skipped ${pending.join(', ')}: not done yet, it waits or runs already.`);
}

/** Shows how many dead letters fit, asks, and replays them, the oldest failure first. */
export async function replayWhere(
  invocation: Invocation,
  operator: Operator,
  filter: DeadLetterFilter,
): Promise<number> {
  const { io, options, output } = invocation;
  const limit = limitOf(invocation);
  const generation = options.count('generation', 0);
  const { items, isMore } = await collectDeadLetters(operator, filter, limit);
  const what = `${counted(items.length, 'dead letter')}${isMore ? ` (of more; --limit is ${limit})` : ''}`;
  if (items.length === 0 || options.flag('dry-run')) {
    output.answer({ replayed: 0, matched: items.length, isMore, dryRun: options.flag('dry-run') }, () => {
      output.line(items.length === 0 ? 'No dead letters to replay.' : `Would replay ${what}. Nothing was changed.`);
    });
    return EXIT.ok;
  }
  if (!(await confirm(invocation, `Replay ${what}?`, 'go-on'))) throw new CliError('nothing was changed');
  const by = byWhom(invocation);
  const progress = progressOn(io, output);
  let done = 0;
  // Bounded by what was counted: what fails again at once would fit again, but stands last in line.
  while (done < items.length) {
    const piece = { ...filter, limit: Math.min(PIECE, items.length - done) };
    const { count } = await operator.replayWhere(piece, by, { generation });
    if (count === 0) break;
    done += count;
    progress.show(`replayed ${done} of ${items.length}`);
  }
  progress.end();
  output.answer({ replayed: done, matched: items.length, isMore, dryRun: false }, () => {
    output.line(
      `${counted(done, 'delivery', 'deliveries')} will run again.${isMore ? ' There are more: run it again.' : ''}`,
    );
  });
  return EXIT.ok;
}

/** Plans the replay of what fits as a durable operation, asks, starts it and watches it. */
export async function replayAsBulk(
  invocation: Invocation,
  operator: Operator,
  filter: DeadLetterFilter,
): Promise<number> {
  const { options, output } = invocation;
  const request = {
    verb: 'replay' as const,
    filter,
    limit: limitOf(invocation),
    canary: options.count('canary', 0),
    perSecond: rateOf(options),
    generation: options.count('generation', 0),
  };
  const by = byWhom(invocation);
  const planned = await operator.planBulk(request, by);
  const { bulk } = planned;
  if (bulk.total === 0 || options.flag('dry-run')) {
    output.answer({ ...planned, dryRun: options.flag('dry-run') }, () => {
      showPlan(invocation, planned);
      if (bulk.total > 0) output.line('\nNothing was changed.');
    });
    return EXIT.ok;
  }
  if (!output.isJson) showPlan(invocation, planned);
  const what = `${counted(bulk.total, 'dead letter')}${bulk.isCut ? ' (of more)' : ''}`;
  if (!(await confirm(invocation, `Replay ${what}?`, 'go-on'))) throw new CliError('nothing was changed');
  const started = await operator.startBulk(bulk.id, by);
  if (started.kind === 'refused') throw new CliError(started.problem);
  return watchBulk(invocation, operator, bulk.id);
}

/** At most so many a second. */
export function rateOf(options: OptionValues): number | undefined {
  const text = options.text('rate');
  if (text === undefined) return undefined;
  const rate = Number(text.replace(/\/s$/, ''));
  if (!(rate >= SLOWEST && rate <= FASTEST)) {
    throw usageError(`--rate is ${JSON.stringify(text)}; write how many a second, from ${SLOWEST} to ${FASTEST}`);
  }
  return rate;
}

/** How many at most. */
export function limitOf({ options }: Pick<Invocation, 'options'>): number {
  const limit = options.count('limit') ?? REPLAY_LIMIT;
  return Math.min(limit, MAX_LIMIT);
}
