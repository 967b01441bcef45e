import type { By, Operator } from '../../operator/operator.ts';
import type { HeldKey } from '../../operator/operator-records.ts';
import { CliError, EXIT, usageError } from '../cli-error.ts';
import type { Command, Invocation } from '../command.ts';
import { confirm } from '../confirm.ts';
import { counted } from '../counted.ts';
import { formatAge } from '../duration.ts';
import { byWhom, openOperator } from '../open-operator.ts';
import { PAGE_OPTIONS, pageOf, sayMore, subVerb } from '../page-options.ts';
import { describeRefusal } from '../refusal.ts';
import { errorText } from './dlq-list.ts';

const VERBS = ['release', 'skip', 'replay'] as const;
type Verb = (typeof VERBS)[number];

/** `holdfast keys`: keys that do not go on; lets one go on. */
export const keys: Command = {
  name: 'keys',
  summary: 'List keys whose messages wait behind one that retries or has failed; let one go on.',
  args: { usage: '[release|skip|replay <key>]', min: 0, max: 2 },
  verbs: VERBS,
  options: {
    service: { value: '<name>', summary: 'only handlers of this service' },
    handler: { value: '<name>', summary: 'only this handler; with a verb it must be given' },
    ...PAGE_OPTIONS,
    generation: { value: '<n>', summary: 'with replay: process it in this generation', default: 'the one it has' },
    reason: { value: '<text>', summary: 'why, for the audit; with skip it must be given' },
  },
  details: [
    'release: the key goes on past what failed, which stays a dead letter. skip: the first that failed is given up.',
    'replay: all that failed or was parked of the key runs again, in its order.',
  ],
  examples: [
    'holdfast keys --handler send-receipt',
    'holdfast keys replay ord_1 --handler send-receipt',
    `holdfast keys skip ord_1 --handler send-receipt --reason 'sent by hand'`,
  ],
  run: async (invocation) => {
    const { args, options, output } = invocation;
    const [word, key] = args;
    if (word !== undefined) return change(invocation, subVerb('keys', VERBS, word), key);
    const page = await (
      await openOperator(invocation)
    ).heldKeys({ service: options.text('service'), handler: options.text('handler'), ...pageOf(options) });
    output.answer(page, () => {
      if (page.items.length === 0) output.line('No key is held. Every key goes on.');
      else show(invocation, page.items);
      sayMore(output, page);
    });
    return EXIT.ok;
  },
};

function show({ io, output }: Invocation, items: readonly HeldKey[]): void {
  const nowMs = io.effects.now().wallMs;
  output.table(items, [
    { title: 'KEY', value: (one) => one.key, shrinkTo: 8 },
    { title: 'HANDLER', value: (one) => `${one.service}/${one.handler}`, shrinkTo: 12 },
    { title: 'BEHIND', value: (one) => one.behind, align: 'right' },
    { title: 'FAILED', value: (one) => one.failed, align: 'right' },
    { title: 'HELD BY', value: (one) => one.holder.messageId },
    {
      title: 'WHICH',
      value: ({ holder: { breaker, dueAt, status } }) => {
        if (breaker) return `held by the breaker ${breaker.name}`;
        return dueAt ? `retry due ${formatAge(dueAt.getTime(), nowMs)}` : status;
      },
    },
    { title: 'ERROR', value: ({ holder }) => errorText(holder), shrinkTo: 12 },
  ]);
  if (items.some((one) => one.holder.status === 'failed')) {
    output.line('\nholdfast keys replay|release|skip <key> --handler <name> lets a key go on.');
  }
}

async function change(invocation: Invocation, verb: Verb, key: string | undefined): Promise<number> {
  const { options, output } = invocation;
  if (key === undefined) throw usageError(`name the key: holdfast keys ${verb} <key> --handler <name>`);
  const handler = options.required('handler', 'send-receipt');
  const by = byWhom(invocation);
  const reason = verb === 'skip' ? options.required('reason', `'sent by hand'`) : undefined;
  const operator = await openOperator(invocation);
  if (
    reason !== undefined &&
    !(await confirm(invocation, `Give up the first that failed of ${JSON.stringify(key)} at ${handler}?`, 'refuse'))
  ) {
    throw new CliError('nothing was changed');
  }
  const { outcome, text } = await apply(invocation, operator, { verb, handler, key, by, reason });
  output.answer({ handler, key, ...outcome }, () => output.line(text));
  return EXIT.ok;
}

interface Change {
  readonly verb: Verb;
  readonly handler: string;
  readonly key: string;
  readonly by: By;
  readonly reason: string | undefined;
}

async function apply(
  { options }: Invocation,
  operator: Operator,
  { verb, handler, key, by, reason }: Change,
): Promise<{ readonly outcome: object; readonly text: string }> {
  const outcome =
    verb === 'release'
      ? await operator.releaseKey(handler, key, by)
      : verb === 'skip'
        ? await operator.skipKey(handler, key, { ...by, reason: reason ?? '' })
        : await operator.replayKey(handler, key, by, { generation: options.count('generation', 0) });
  switch (outcome.kind) {
    case 'unknown-handler':
    case 'ambiguous-handler':
      throw new CliError(describeRefusal(outcome, key));
    case 'nothing-failed':
      throw new CliError(
        `nothing of the key ${JSON.stringify(key)} has failed at ${handler}; holdfast keys lists what is held`,
      );
    case 'released':
      return {
        outcome,
        text: outcome.count === 0 ? 'Nothing was held.' : `The key goes on: ${counted(outcome.count, 'message')} run.`,
      };
    case 'skipped':
      return { outcome, text: `${outcome.messageId} is given up; the key goes on.` };
    case 'replayed':
      return {
        outcome,
        text: `${counted(outcome.count, 'delivery', 'deliveries')} of the key will run again, in their order.`,
      };
    default:
      return outcome satisfies never;
  }
}
