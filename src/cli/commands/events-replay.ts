import { usageError } from '../cli-error.ts';
import type { Command, Invocation } from '../command.ts';
import { FILTER_OPTIONS, readFilter } from '../dead-letter-options.ts';
import { openOperator } from '../open-operator.ts';
import { REPLAY_LIMIT, replayIds, replayWhere } from '../replay-selection.ts';

const { service = { summary: '' }, type = { summary: '' }, since = { summary: '' } } = FILTER_OPTIONS;

/** `holdfast events:replay`: the same by event, for chosen projectors too. */
export const eventsReplay: Command = {
  name: 'events:replay',
  summary: 'Replay events: all that failed, one dead letter, or one event for chosen projectors.',
  options: {
    status: { value: 'failed', summary: 'all that failed' },
    service,
    type,
    since,
    limit: { value: '<n>', summary: 'at most so many, up to 10000', default: String(REPLAY_LIMIT) },
    dlq: { summary: 'one dead letter, named by --id' },
    id: { value: '<dlq-id>', summary: 'the dead letter' },
    'event-id': { value: '<id>', summary: 'one event, whatever became of it' },
    projectors: { value: '<a,b>', summary: 'only these handlers of it', multiple: true },
    rerun: { summary: 'refuse all of it if one of them succeeded and is not repeatable' },
    generation: { value: '<n>', summary: 'process it in this generation', default: 'the one it has' },
    reason: { value: '<text>', summary: 'why, for the audit' },
    'dry-run': { summary: 'with --status: only tell how many fit' },
  },
  details: [
    'The stored payload is read again; the event keeps its id and its idempotency key, so that nothing is done twice.',
    'Of the named projectors, those that failed or never had the event run; those that succeeded run again if they are declared repeatable, and are skipped otherwise.',
  ],
  examples: [
    'holdfast events:replay --status failed --limit 100',
    'holdfast events:replay --dlq --id 0199f2d6-7c1e-7b33-a4a8-2f1f0c9d5b11:3',
    'holdfast events:replay --event-id 0199f2d6-7c1e-7b33-a4a8-2f1f0c9d5b11 --projectors score,sessions',
  ],
  run: async (invocation) => {
    const { options } = invocation;
    const selection = selectionOf(invocation);
    const operator = await openOperator(invocation);
    if (selection === 'failed') return replayWhere(invocation, operator, readFilter(invocation));
    const projectors = options.list('projectors');
    return replayIds(invocation, operator, [selection.id], {
      generation: options.count('generation', 0),
      ...(projectors.length > 0 && { handlers: projectors, rerun: true, skip: !options.flag('rerun') }),
    });
  },
};

function selectionOf({ options }: Invocation): 'failed' | { readonly id: string } {
  const forms = ['status', 'dlq', 'event-id'].filter((name) => options.has(name));
  if (forms.length !== 1) {
    throw usageError('say one of these: --status failed, --dlq --id <dlq-id>, or --event-id <id>');
  }
  if (forms[0] === 'event-id') {
    if (options.flag('rerun') && options.list('projectors').length === 0) {
      throw usageError('--rerun needs --projectors: name what is to run again');
    }
    return { id: options.required('event-id', '<id>') };
  }
  if (options.has('projectors') || options.flag('rerun'))
    throw usageError('--projectors and --rerun go with --event-id');
  if (forms[0] === 'dlq') return { id: options.required('id', '<dlq-id>') };
  const status = options.text('status');
  if (status !== 'failed')
    throw usageError(`--status is ${JSON.stringify(status)}; only what failed can be replayed so`);
  return 'failed';
}
