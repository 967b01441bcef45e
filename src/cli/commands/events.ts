import type { Command, Invocation } from '../command.ts';
import { watchBulk } from '../bulk-watch.ts';
import { showPlan } from '../bulk-words.ts';
import { CliError, EXIT, usageError } from '../cli-error.ts';
import { confirm } from '../confirm.ts';
import { counted } from '../counted.ts';
import { sinceOf } from '../dead-letter-options.ts';
import { byWhom, openOperator } from '../open-operator.ts';
import { subVerb } from '../page-options.ts';
import { rateOf } from '../replay-selection.ts';

const VERBS = ['republish'] as const;

/** `holdfast events republish`: what a broker has lost goes there again. */
export const events: Command = {
  name: 'events',
  summary: 'Publish again what a broker has lost: republish --since <time> --to <transport>.',
  args: { usage: 'republish', min: 1, max: 1 },
  verbs: VERBS,
  options: {
    since: { value: '<time>', summary: 'published within this time (15m, 2h), or after a date' },
    until: { value: '<time>', summary: 'published before this time', default: 'now' },
    to: { value: '<transport>', summary: 'the name of the transport, such as redis or kafka' },
    service: { value: '<name>', summary: 'the service that published it', default: 'all of this database' },
    type: { value: '<type>', summary: 'only messages of this type' },
    key: { value: '<key>', summary: 'only messages of this key' },
    limit: { value: '<n>', summary: 'at most so many, in the order they were sent', default: '100000' },
    canary: { value: '<n>', summary: 'so many first, the rest only if all of them are published' },
    rate: { value: '<n>', summary: 'at most so many a second' },
    generation: { value: '<n>', summary: 'process them in this generation', default: 'the one each has' },
    reason: { value: '<text>', summary: 'why, for the audit' },
    interval: { value: '<time>', summary: 'how often it is looked at', default: '500ms' },
    'dry-run': { summary: 'only show what would be published' },
  },
  details: [
    'Messages that were delivered to a broker go there again, in the order they were sent, with the ids they have: a service that',
    'received one has no second effect, as long as its inbox remembers it. It is a durable operation that is watched to its end;',
    'Ctrl-C leaves it running. Only what the history still holds can be published again: the preview says from when on it is whole.',
  ],
  examples: [
    'holdfast events republish --since 2h --to redis --dry-run',
    'holdfast events republish --since 2026-01-31T12:00Z --to kafka --type order.placed --canary 5 --rate 200',
  ],
  run: async (invocation) => {
    subVerb('events', VERBS, invocation.args[0] ?? '');
    return republish(invocation);
  },
};

async function republish(invocation: Invocation): Promise<number> {
  const { io, options, output } = invocation;
  const nowMs = io.effects.now().wallMs;
  const since = sinceOf(options.required('since', '2h'), nowMs);
  const transport = options.required('to', 'redis');
  if (!/^[a-z0-9][a-z0-9-]*$/.test(transport))
    throw usageError(`--to is ${JSON.stringify(transport)}; write the name of a transport, such as redis`);
  const by = byWhom(invocation);
  const operator = await openOperator(invocation);
  const filter = {
    handler: `to-${transport}`,
    service: options.text('service'),
    type: options.text('type'),
    key: options.text('key'),
    since,
    until: sinceOf(options.text('until'), nowMs),
  };
  const planned = await operator.planBulk(
    {
      verb: 'republish',
      filter,
      limit: options.count('limit'),
      canary: options.count('canary', 0),
      perSecond: rateOf(options),
      generation: options.count('generation', 0),
    },
    by,
  );
  const { bulk } = planned;
  if (bulk.total === 0 || options.flag('dry-run')) {
    output.answer({ ...planned, dryRun: options.flag('dry-run') }, () => {
      showPlan(invocation, planned);
      if (bulk.total > 0) output.line('\nNothing was changed.');
    });
    return EXIT.ok;
  }
  if (!output.isJson) showPlan(invocation, planned);
  const what = `${counted(bulk.total, 'message')}${bulk.isCut ? ' (of more)' : ''}`;
  if (!(await confirm(invocation, `Publish ${what} again?`, 'go-on'))) throw new CliError('nothing was changed');
  const started = await operator.startBulk(bulk.id, by);
  if (started.kind === 'refused') throw new CliError(started.problem);
  return watchBulk(invocation, operator, bulk.id);
}
