import { listedMessage, type MessageRow } from '../../operator/message-rows.ts';
import type { ListedMessage } from '../../operator/message-list.ts';
import type { DeadLetter, DeadLetterStatus, DeliveryStatus } from '../../operator/operator-records.ts';
import { errorFingerprint, FINGERPRINT_VERSION } from '../../relay/error-fingerprint.ts';
import type { DeliveryError } from '../../relay/relay-store.ts';
import { sha256 } from '../../system/sha256.ts';
import type { RowState } from '../row.ts';
import { type BoxRow, deliveryIdOf, type FoundRow, messageIdOf } from './box-row.ts';

const STATUS: Readonly<Record<RowState, DeliveryStatus>> = {
  open: 'ready',
  waiting: 'waiting',
  dead: 'failed',
  done: 'delivered',
  discarded: 'discarded',
};

/** Where the delivery stands. */
export function statusOf({ state }: Pick<BoxRow, 'state'>): DeliveryStatus {
  return STATUS[state];
}

/** The error group of a failed one: as in PostgreSQL, the handler, the type and the fingerprint of the error. */
function groupOf({ row, handler }: FoundRow, error: DeliveryError): string {
  const cause = [handler.service, handler.name, row.eventType, errorFingerprint(error).text].join('\n');
  return `${FINGERPRINT_VERSION}-${hexOf(sha256(cause)).slice(0, 16)}`;
}

/** Of base64url. */
function hexOf(text: string): string {
  const bytes = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Array.from(bytes, (byte) => byte.charCodeAt(0).toString(16).padStart(2, '0')).join('');
}

/** What operators call its state; nothing where it has never failed. */
export function deadLetterStatus({ state, replays }: BoxRow): DeadLetterStatus | undefined {
  if (state === 'dead') return 'pending';
  if (state === 'discarded') return 'discarded';
  if (replays === 0) return undefined;
  return state === 'done' ? 'replayed' : 'replaying';
}

/** A row that failed, and what became of it. What was replayed shows the cycle that failed, as far as that was kept. */
export function deadLetterOf(found: FoundRow, status: DeadLetterStatus): DeadLetter {
  const { row, handler } = found;
  const last = row.failures?.at(-1);
  const isPast = status === 'replaying' || status === 'replayed';
  const error = (isPast ? last?.error : row.error) ?? row.error ?? undefined;
  const failedAt = row.deadAt ?? (last && new Date(last.failedAt)) ?? undefined;
  const replayedAt = last?.replayedAt ? new Date(last.replayedAt) : undefined;
  return {
    id: deliveryIdOf(found),
    messageId: messageIdOf(found),
    service: handler.service,
    handler: handler.name,
    type: row.eventType,
    key: row.key ?? undefined,
    source: row.source,
    target: row.target ?? undefined,
    generation: row.generation ?? undefined,
    status,
    attempts: isPast && last ? last.attempts : row.attempts,
    error,
    cycle: row.replays,
    firstFailedAt: undefined,
    lastAttemptAt: failedAt,
    createdAt: row.createdAt,
    updatedAt: row.endedAt ?? row.deadAt ?? replayedAt ?? row.createdAt,
    holds: row.state === 'dead' && row.key !== null,
    group: error && groupOf(found, error),
  };
}

/** An error in one line. */
export function errorLine(error: DeliveryError | null | undefined): string | undefined {
  return error ? `${error.code ?? error.name}: ${error.message}` : undefined;
}

const OPEN_STATE: Partial<Record<RowState, number>> = { open: 0, waiting: 1, dead: 2 };
const OUTCOME: Partial<Record<RowState, number>> = { done: 0, discarded: 1 };

/** A message in one line, from all its rows. */
export function listedOf(rows: readonly FoundRow[]): ListedMessage {
  const times = rows.map(({ row }) => row.createdAt.getTime());
  // An inbox has it from when it arrived; it was sent before that.
  return { ...listedMessage(rows.map(messageRow)), createdAt: new Date(Math.min(...times)) };
}

function messageRow(found: FoundRow): MessageRow {
  const { row, handler } = found;
  const id = messageIdOf(found);
  return {
    id,
    type: row.eventType,
    key: row.key ?? undefined,
    source: row.source,
    target: row.target ?? undefined,
    idempotencyKey: row.idempotencyKey ?? id,
    generation: row.generation ?? undefined,
    createdAt: row.createdAt,
    attempts: row.attempts,
    number: handler.number,
    service: handler.service,
    handler: handler.name,
    rerun: 0,
    error: row.state === 'done' ? undefined : errorLine(row.error),
    firstFailedAt: undefined,
    state: OPEN_STATE[row.state],
    dueAt: row.dueAt ?? undefined,
    failedAt: row.deadAt ?? undefined,
    isRetry: row.state === 'waiting',
    outcome: OUTCOME[row.state],
    doneAt: row.endedAt ?? undefined,
  };
}
