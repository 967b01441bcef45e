import type { Cancelled } from '../../operator/operator-outcomes.ts';
import type { DeliveryStatus } from '../../operator/operator-records.ts';
import { EXIT, usageError } from '../cli-error.ts';
import type { Command } from '../command.ts';
import { counted } from '../counted.ts';
import { byWhom, openOperator } from '../open-operator.ts';
import { describeRefusal } from '../refusal.ts';

/** `holdfast outbox:cancel`: takes back scheduled messages. */
export const outboxCancel: Command = {
  name: 'outbox:cancel',
  summary: 'Take back a scheduled message whose time has not come.',
  options: {
    id: { value: '<id>', summary: 'the message', multiple: true },
    reason: { value: '<text>', summary: 'why, for the audit; must be given' },
  },
  details: [
    'None of its handlers gets it; it stays in the history with who and why. Refused once its time has come: a worker may',
    'have begun. What waits or has failed is given up with dlq:discard.',
  ],
  examples: [`holdfast outbox:cancel --id 0199f2d6-7c1e-7b33-a4a8-2f1f0c9d5b11 --reason 'order withdrawn'`],
  run: async (invocation) => {
    const { io, options, output } = invocation;
    const ids = options.list('id');
    if (ids.length === 0) throw usageError('say which: --id <id>');
    const by = { ...byWhom(invocation), reason: options.required('reason', `'order withdrawn'`) };
    const operator = await openOperator(invocation);
    const results: (Cancelled & { readonly id: string })[] = [];
    for (const id of ids) results.push({ id, ...(await operator.cancel(id, by)) });
    const done = results.filter((one) => one.kind === 'cancelled').length;
    output.answer({ cancelled: done, results }, () => {
      if (done > 0)
        output.line(`${counted(done, 'message')} taken back; no handler gets ${done === 1 ? 'it' : 'them'}.`);
    });
    const refused = results.filter((one) => one.kind !== 'cancelled');
    if (!output.isJson) {
      for (const one of refused) io.err(`${output.paint.red('error')}: ${describe(one, one.id)}\n`);
    }
    return refused.length === 0 ? EXIT.ok : EXIT.failed;
  },
};

function describe(refusal: Exclude<Cancelled, { kind: 'cancelled' }>, id: string): string {
  if (refusal.kind === 'not-scheduled') return tooLate(refusal.status, id);
  if (refusal.kind === 'bad-id') return `${JSON.stringify(id)} cannot be cancelled: ${refusal.problem}`;
  return describeRefusal(refusal, id);
}

function tooLate(status: DeliveryStatus, id: string): string {
  const discard = `holdfast dlq:discard --id ${id}`;
  switch (status) {
    case 'ready':
    case 'waiting':
      return `${id} is due or was never scheduled, so a worker may have begun it; ${discard} --open --reason <text> gives up what is left of it`;
    case 'failed':
      return `${id} has run and failed; ${discard} --reason <text> gives it up`;
    case 'delivered':
      return `${id} is delivered, there is nothing left to take back; holdfast dlq:show ${id} shows who handled it`;
    case 'discarded':
    case 'cancelled':
      return `${id} was ${status} already; holdfast audit --message ${id} tells by whom`;
    default:
      return status satisfies never;
  }
}
