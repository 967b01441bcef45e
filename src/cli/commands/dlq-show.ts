import type { DeliveryRecord, MessageDetail } from '../../operator/operator-records.ts';
import { sealedOf } from '../../outbox/stored-payload.ts';
import { CliError, EXIT } from '../cli-error.ts';
import type { Command, Invocation } from '../command.ts';
import { formatAge, formatDuration } from '../duration.ts';
import { openOperator } from '../open-operator.ts';
import { describeRefusal } from '../refusal.ts';

/** `holdfast dlq:show <id>`: all that is known of one message. */
export const dlqShow: Command = {
  name: 'dlq:show',
  summary: 'Show all that is known of one message: payload, deliveries, errors, edits, who did what.',
  args: { usage: '<id>', min: 1, max: 1 },
  options: {},
  details: ['<id> is the id of a dead letter or of a message.'],
  examples: ['holdfast dlq:show 0199f2d6-7c1e-7b33-a4a8-2f1f0c9d5b11:3'],
  run: async (invocation) => {
    const [id = ''] = invocation.args;
    const operator = await openOperator(invocation);
    const answer = await operator.show(id);
    if (answer.kind !== 'found') throw new CliError(describeRefusal(answer, id));
    const detail = answer.message;
    invocation.output.answer(detail, () => showDetail(invocation, detail, id));
    return EXIT.ok;
  },
};

function showDetail(invocation: Invocation, detail: MessageDetail, id: string): void {
  const { io, output } = invocation;
  const age = ageFrom(io.effects.now().wallMs);
  output.fields([
    ['message', detail.id],
    ['type', detail.type],
    ['key', detail.key],
    ['status', detail.deletedAt === undefined ? detail.status : `${detail.status}, given up ${age(detail.deletedAt)}`],
    ['sent', `${age(detail.createdAt)} by ${detail.source}`],
    ['to', detail.target],
    ['due', age(detail.dueAt)],
    ['generation', detail.generation],
    ['version', detail.version === 0 ? undefined : `${detail.version}, edited`],
    ['idempotency', detail.idempotencyKey],
    ['aggregate', detail.aggregateType && `${detail.aggregateType} ${detail.aggregateId ?? ''}`],
    ['correlation', detail.correlationId],
    ['causation', detail.causationId],
    ['trace', detail.traceparent],
    ['headers', entries(detail.headers)],
    ['payload', payloadText(detail.payload)],
  ]);
  output.line();
  showDeliveries(invocation, detail.deliveries, age);
  showErrors(invocation, detail.deliveries);
  showChanges(invocation, detail, age);
  const isFailed = detail.deliveries.some((one) => one.status === 'failed');
  output.line(
    isFailed
      ? `Next: holdfast dlq:replay --id ${id}, dlq:edit or dlq:discard.`
      : `Nothing of it has failed; holdfast why ${id} tells where it stands.`,
  );
}

/** A sealed one says so: its text tells nobody anything. */
function payloadText(payload: unknown): string | undefined {
  const sealed = sealedOf(payload);
  if (!sealed) return JSON.stringify(payload, undefined, 2);
  return `sealed under the key "${sealed.keyId}"; HOLDFAST_SEALING_KEYS opens it here`;
}

type Age = (at: Date | undefined) => string | undefined;

function ageFrom(nowMs: number): Age {
  return (at) => at && formatAge(at.getTime(), nowMs);
}

function entries(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');
}

function showDeliveries({ output }: Invocation, deliveries: readonly DeliveryRecord[], age: Age): void {
  output.table(deliveries, [
    { title: 'DELIVERY', value: (one) => one.id },
    { title: 'HANDLER', value: (one) => one.handler && `${one.service ?? ''}/${one.handler}`, shrinkTo: 12 },
    {
      title: 'STATUS',
      value: (one) => (one.running === undefined ? one.status : `running on ${one.running.worker}`),
      shrinkTo: 9,
      paint: (text, one) => (one.status === 'failed' ? output.paint.red(text) : text),
    },
    { title: 'TRIES', value: (one) => one.attempts, align: 'right' },
    { title: 'REPLAYS', value: (one) => one.cycle, align: 'right' },
    { title: 'WHEN', value: (one) => age(one.doneAt ?? one.failedAt ?? one.dueAt) },
    { title: 'TOOK', value: (one) => (one.durationMs === undefined ? undefined : formatDuration(one.durationMs)) },
  ]);
  output.line();
}

function showErrors({ output }: Invocation, deliveries: readonly DeliveryRecord[]): void {
  for (const { handler, status, error, failureHistory, reason, actor } of deliveries) {
    const fields: [string, string | undefined][] = [];
    // The error of a delivery that went well in the end is history.
    if (error !== undefined && status !== 'delivered') {
      const code = error.code === undefined ? '' : ` (${error.code})`;
      fields.push(
        ['error', `${error.name}${code}: ${error.message}`],
        ['kind', error.kind],
        ['stack', error.stack?.replaceAll(/^ +/gm, '')],
      );
    }
    for (const cycle of failureHistory) {
      const text = cycle.error === null ? 'no error kept' : `${cycle.error.name}: ${cycle.error.message}`;
      const replayed = `replayed by ${cycle.replayedBy} at ${cycle.replayedAt}`;
      fields.push([
        `cycle ${cycle.cycle}`,
        `${text}, attempts: ${cycle.attempts}, failed at ${cycle.failedAt}, ${replayed}`,
      ]);
    }
    if (reason !== undefined) fields.push([status, `${reason} (${actor ?? 'unknown'})`]);
    if (fields.length === 0) continue;
    output.line(output.paint.bold(handler ?? 'no handler'));
    output.fields(fields);
    output.line();
  }
}

function showChanges({ output }: Invocation, { edits, audit }: MessageDetail, age: Age): void {
  for (const edit of edits) {
    output.fields([
      [
        `version ${edit.version}`,
        `${sealedOf(edit.payload) ? 'sealed' : JSON.stringify(edit.payload)}, until ${edit.actor} edited it ${age(edit.editedAt)}`,
      ],
    ]);
  }
  if (edits.length > 0) output.line();
  if (audit.length === 0) return;
  output.table(audit, [
    { title: 'WHEN', value: (one) => age(one.at) },
    { title: 'WHO', value: (one) => one.actor, shrinkTo: 8 },
    { title: 'DID', value: (one) => one.verb },
    { title: 'TO', value: (one) => one.handler, shrinkTo: 8 },
    { title: 'WHY', value: (one) => one.reason, shrinkTo: 8 },
  ]);
  output.line();
}
