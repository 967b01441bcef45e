import { CliError, EXIT, usageError } from '../cli-error.ts';
import type { Command, Invocation } from '../command.ts';
import { counted } from '../counted.ts';
import { FILTER_OPTIONS, givenFilters, readFilter } from '../dead-letter-options.ts';
import { byWhom, openOperator } from '../open-operator.ts';
import { describeRefusal } from '../refusal.ts';
import { REPLAY_LIMIT, replayAsBulk, replayIds, replayWhere } from '../replay-selection.ts';

/** `holdfast dlq:replay`: failed deliveries run again. */
export const dlqReplay: Command = {
  name: 'dlq:replay',
  summary: 'Run failed deliveries again: one by its id, or all that fit.',
  options: {
    id: { value: '<id>', summary: 'a dead letter or a message', multiple: true },
    ...FILTER_OPTIONS,
    limit: { value: '<n>', summary: 'at most so many, up to 10000', default: String(REPLAY_LIMIT) },
    canary: { value: '<n>', summary: 'so many first, the rest only if all of them succeed' },
    rate: { value: '<n>', summary: 'at most so many a second' },
    generation: { value: '<n>', summary: 'process it in this generation', default: 'the one it has' },
    reason: { value: '<text>', summary: 'why, for the audit' },
    'dry-run': { summary: 'only tell how many fit' },
  },
  details: [
    'A replay keeps the id and the idempotency key: what was handled is not handled again. The oldest failure goes first.',
    'With --handler and --key alone, all of that key is replayed in its order. With --canary or --rate it is a durable',
    'operation that is watched to its end, as holdfast bulk plans and starts it; Ctrl-C leaves it running.',
  ],
  examples: [
    'holdfast dlq:replay --service expenses --since 15m',
    'holdfast dlq:replay --id 0199f2d6-7c1e-7b33-a4a8-2f1f0c9d5b11:3',
    'holdfast dlq:replay --type order.placed --limit 500 --dry-run',
    'holdfast dlq:replay --group 1-9f2c0a7be4d1c035 --limit 5000 --canary 5 --rate 50',
  ],
  run: async (invocation) => {
    const { options } = invocation;
    const ids = options.list('id');
    const filters = givenFilters(invocation);
    checkSelection(invocation, ids, filters);
    const operator = await openOperator(invocation);
    if (ids.length > 0) {
      const handler = options.text('handler');
      const handlers = handler === undefined ? undefined : [handler];
      return replayIds(invocation, operator, ids, { generation: options.count('generation', 0), handlers });
    }
    if (options.has('canary') || options.has('rate')) return replayAsBulk(invocation, operator, readFilter(invocation));
    const [handler, key] = [options.text('handler'), options.text('key')];
    const isWholeKey = filters.length === 2 && !options.has('limit') && !options.flag('dry-run');
    if (handler === undefined || key === undefined || !isWholeKey) {
      return replayWhere(invocation, operator, readFilter(invocation));
    }
    const result = await operator.replayKey(handler, key, byWhom(invocation), {
      generation: options.count('generation', 0),
    });
    if (result.kind !== 'replayed') throw new CliError(describeRefusal(result, key));
    invocation.output.answer({ replayed: result.count, matched: result.count, isMore: false, dryRun: false }, () => {
      invocation.output.line(
        `${counted(result.count, 'delivery', 'deliveries')} of the key will run again, in their order.`,
      );
    });
    return EXIT.ok;
  },
};

function checkSelection({ options }: Invocation, ids: readonly string[], filters: readonly string[]): void {
  if (ids.length === 0 && filters.length === 0 && !options.has('limit')) {
    throw usageError('say which: --id <id>, a filter such as --service <name> --since 15m, or --limit <n> for any');
  }
  const bounds = ['limit', 'canary', 'rate'].filter((name) => options.has(name));
  const beside = [...filters.filter((name) => name !== 'handler'), ...bounds];
  if (ids.length > 0 && beside.length > 0) {
    throw usageError(`--id names one already; leave out ${beside.map((name) => `--${name}`).join(', ')}`);
  }
  if (ids.length > 0 && options.flag('dry-run')) {
    throw usageError('--dry-run counts what fits a filter; holdfast dlq:show <id> shows one');
  }
}
