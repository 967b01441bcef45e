import type { HeldKey } from '../../operator/operator-records.ts';
import { EXIT } from '../cli-error.ts';
import type { Command, Invocation } from '../command.ts';
import { formatAge } from '../duration.ts';
import { openOperator } from '../open-operator.ts';
import { errorText } from './dlq-list.ts';

const LIMIT = 50;

/** `holdfast keys`: keys that do not go on. */
export const keys: Command = {
  name: 'keys',
  summary: 'List keys whose messages wait behind one that retries or has failed.',
  options: {
    service: { value: '<name>', summary: 'only handlers of this service' },
    handler: { value: '<name>', summary: 'only this handler' },
    limit: { value: '<n>', summary: 'how many, up to 1000', default: String(LIMIT) },
    cursor: { value: '<text>', summary: 'go on from where the last list ended' },
  },
  examples: ['holdfast keys --handler send-receipt'],
  run: async (invocation) => {
    const { options, output } = invocation;
    const page = await (
      await openOperator(invocation)
    ).heldKeys({
      service: options.text('service'),
      handler: options.text('handler'),
      limit: options.count('limit') ?? LIMIT,
      cursor: options.text('cursor'),
    });
    output.answer(page, () => {
      if (page.items.length === 0) output.line('No key is held. Every key goes on.');
      else show(invocation, page.items);
      if (page.next !== undefined) output.line(`\nMore: add --cursor ${page.next}, or a larger --limit.`);
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
      value: ({ holder }) => (holder.dueAt ? `retry due ${formatAge(holder.dueAt.getTime(), nowMs)}` : holder.status),
    },
    { title: 'ERROR', value: ({ holder }) => errorText(holder), shrinkTo: 12 },
  ]);
  if (items.some((one) => one.holder.status === 'failed')) {
    output.line(
      '\nholdfast dlq:replay --handler <name> --key <key> runs a key again; dlq:discard lets it go on without.',
    );
  }
}
