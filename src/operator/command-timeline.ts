import { errorText } from './timeline.ts';
import type { CommandRow, MessageRow, TracedCommandEvent } from './trace-rows.ts';
import type { TraceEntry } from './trace.ts';

const FAILED: readonly string[] = ['retry_wait', 'blocked', 'dlq'];
const DEAD: readonly string[] = ['blocked', 'dlq'];

/** Each step of a command. `message` is the one that does its work, where that is still known. */
export function commandEntries(command: CommandRow, message: MessageRow | undefined): readonly TraceEntry[] {
  const handler = message?.deliveries[0]?.handler;
  const dlqId = handler === undefined ? {} : { dlqId: `${command.id}:${handler}` };
  return command.events.map((event) => commandEntry(command, event, DEAD.includes(event.to) ? dlqId : {}));
}

function commandEntry(
  command: CommandRow,
  event: TracedCommandEvent,
  more: Readonly<Record<string, string>>,
): TraceEntry {
  const { id, service, name, target, module, idempotencyKey, correlation } = command;
  const { at, to, attempt, actor } = event;
  return {
    at: new Date(at),
    step: 'command',
    service,
    what: module === name ? `${name} of ${target}` : `${name} of ${target}, ${module}`,
    outcome: to === 'done' ? 'ok' : FAILED.includes(to) ? 'failed' : undefined,
    detail: commandDetail(event),
    durationMs: undefined,
    attempt: attempt === 0 ? undefined : attempt,
    actor: actor ?? undefined,
    reason: undefined,
    ids: { ...correlation, commandId: id, idempotencyKey, target, ...more },
  };
}

function commandDetail({ kind, from, to, attempt, error, actor }: TracedCommandEvent): string {
  const step = kind === 'moved' ? (from === null ? to : `${from} → ${to}`) : `${kind}, ${to}`;
  const tried = attempt === 0 ? '' : `, attempt ${attempt}`;
  const failed = error === null ? '' : `: ${errorText(error)}`;
  return `${step}${failed}${tried}${actor === null ? '' : `, by ${actor}`}`;
}
