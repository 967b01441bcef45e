import type { Operator } from '../../operator/operator.ts';
import type { Discarded } from '../../operator/operator-outcomes.ts';
import { CliError, EXIT, usageError } from '../cli-error.ts';
import type { Command, Invocation } from '../command.ts';
import { confirm } from '../confirm.ts';
import { counted } from '../counted.ts';
import { collectDeadLetters, FILTER_OPTIONS, givenFilters, readFilter } from '../dead-letter-options.ts';
import { byWhom, openOperator } from '../open-operator.ts';
import { progressOn } from '../progress.ts';
import { describeRefusal } from '../refusal.ts';
import { limitOf } from '../replay-selection.ts';

/** `holdfast dlq:discard`: gives dead letters up. */
export const dlqDiscard: Command = {
  name: 'dlq:discard',
  summary: 'Give dead letters up: one by its id, or all that fit.',
  options: {
    id: { value: '<id>', summary: 'a dead letter or a message', multiple: true },
    ...FILTER_OPTIONS,
    limit: { value: '<n>', summary: 'with a filter: at most so many; must be given' },
    reason: { value: '<text>', summary: 'why, for the audit; must be given' },
    open: { summary: 'with --id: also what has not failed yet' },
    'dry-run': { summary: 'only tell how many fit' },
  },
  details: ['They are kept in the history with who and why, and later messages of their keys go on.'],
  examples: [
    `holdfast dlq:discard --id 0199f2d6-7c1e-7b33-a4a8-2f1f0c9d5b11:3 --reason 'test data'`,
    `holdfast dlq:discard --type order.placed --error-code 23505 --limit 50 --reason 'imported twice'`,
  ],
  run: async (invocation) => {
    const { options } = invocation;
    const reason = options.required('reason', `'test data'`);
    const ids = options.list('id');
    const filters = givenFilters(invocation);
    if (ids.length > 0 && filters.length > 0) {
      throw usageError(`--id names one already; leave out ${filters.map((name) => `--${name}`).join(', ')}`);
    }
    if (ids.length === 0 && (filters.length === 0 || !options.has('limit'))) {
      throw usageError('say which: --id <id>, or a filter such as --type <type> with --limit <n>');
    }
    const operator = await openOperator(invocation);
    return ids.length > 0 ? discardIds(invocation, operator, ids, reason) : discardWhere(invocation, operator, reason);
  },
};

async function discardWhere(invocation: Invocation, operator: Operator, reason: string): Promise<number> {
  const { options, output } = invocation;
  const { items, isMore } = await collectDeadLetters(operator, readFilter(invocation), limitOf(invocation));
  const what = `${counted(items.length, 'dead letter')}${isMore ? ' (of more)' : ''}`;
  if (items.length === 0 || options.flag('dry-run')) {
    output.answer({ discarded: 0, matched: items.length, isMore, dryRun: options.flag('dry-run') }, () => {
      output.line(items.length === 0 ? 'No dead letters to discard.' : `Would discard ${what}. Nothing was changed.`);
    });
    return EXIT.ok;
  }
  const question = `Discard ${what}, the newest by ${items[0]?.handler ?? ''}?`;
  if (!(await confirm(invocation, question, 'refuse'))) throw new CliError('nothing was changed');
  const ids = items.map((one) => one.id);
  return discardIds(invocation, operator, ids, reason);
}

async function discardIds(
  invocation: Invocation,
  operator: Operator,
  ids: readonly string[],
  reason: string,
): Promise<number> {
  const { io, options, output } = invocation;
  const by = { ...byWhom(invocation), reason };
  const progress = progressOn(io, output);
  const results: (Discarded & { readonly id: string })[] = [];
  for (const id of ids) {
    results.push({ id, ...(await operator.discard(id, by, { open: options.flag('open') })) });
    progress.show(`discarded ${results.length} of ${ids.length}`);
  }
  progress.end();
  const done = results.reduce((sum, one) => sum + (one.kind === 'discarded' ? one.count : 0), 0);
  output.answer({ discarded: done, matched: ids.length, isMore: false, dryRun: false, results }, () => {
    if (done > 0) output.line(`${counted(done, 'delivery', 'deliveries')} given up.`);
  });
  const refused = results.filter((one) => one.kind !== 'discarded');
  if (!output.isJson) {
    for (const one of refused) io.err(`${output.paint.red('error')}: ${describeRefusal(one, one.id)}\n`);
  }
  return refused.length === 0 ? EXIT.ok : EXIT.failed;
}
