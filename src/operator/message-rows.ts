import type { ListedMessage, MessageTab } from './message-list.ts';
import type { DeliveryStatus, MessageStatus, MessageSummary } from './operator-records.ts';

/** One delivery of a listed message, as a store reads it. */
export interface MessageRow extends Pick<
  MessageSummary,
  'id' | 'type' | 'key' | 'source' | 'target' | 'idempotencyKey' | 'generation' | 'createdAt' | 'attempts'
> {
  /** Of the handler. */
  readonly number: number;
  readonly service: string | undefined;
  readonly handler: string | undefined;
  readonly rerun: number;
  /** The last error in one line. */
  readonly error: string | undefined;
  readonly firstFailedAt: Date | undefined;
  /** Of an open one: 0 ready, 1 waiting, 2 failed. */
  readonly state?: number | undefined;
  readonly dueAt?: Date | undefined;
  readonly failedAt?: Date | undefined;
  readonly isRetry?: boolean | undefined;
  readonly isRunning?: boolean | undefined;
  /** Of a finished one: 0 done, 1 discarded, 2 cancelled. */
  readonly outcome?: number | undefined;
  readonly doneAt?: Date | undefined;
}

const OPEN = ['ready', 'waiting', 'failed'] as const;
const ENDED = ['delivered', 'discarded', 'cancelled'] as const;

const STATUS_OF: Readonly<Record<MessageTab, MessageStatus>> = {
  pending: 'pending',
  in_flight: 'in_flight',
  scheduled: 'pending',
  retrying: 'pending',
  failed: 'failed',
  delivered: 'delivered',
  discarded: 'failed',
  cancelled: 'pending',
};

/** A message in one line, from its deliveries. What needs somebody decides: failed, then running, retrying, ready, scheduled. */
export function listedMessage(rows: readonly MessageRow[]): ListedMessage {
  const [tab, row] = leading(rows);
  const { id, type, key, source, target, idempotencyKey, generation, createdAt, attempts, firstFailedAt } = row;
  const isGivenUp = tab === 'discarded' || tab === 'cancelled';
  return {
    id,
    type,
    key,
    source,
    target,
    idempotencyKey,
    generation,
    status: STATUS_OF[tab],
    attempts,
    lastError: row.error,
    createdAt,
    dueAt: row.dueAt,
    firstFailedAt,
    failedAt: row.failedAt,
    deletedAt: isGivenUp ? row.doneAt : undefined,
    publishedAt: tab === 'delivered' ? row.doneAt : undefined,
    tab,
    deliveries: byHandler(rows),
  };
}

/** The tab a message is in, and the delivery that puts it there: as the view `outbox` chooses it. */
function leading(rows: readonly MessageRow[]): [MessageTab, MessageRow] {
  const open = rows.filter(({ state }) => state !== undefined);
  if (open.length > 0) return leadingOpen(open);
  const last = (outcome: number): MessageRow | undefined =>
    first(
      rows.filter((row) => row.outcome === outcome),
      (a, b) => time(b.doneAt) - time(a.doneAt) || b.number - a.number || b.rerun - a.rerun,
    );
  const discarded = last(1);
  if (discarded) return ['discarded', discarded];
  const cancelled = last(2);
  if (cancelled) return ['cancelled', cancelled];
  return ['delivered', last(0) ?? (rows[0] as MessageRow)];
}

function leadingOpen(open: readonly MessageRow[]): [MessageTab, MessageRow] {
  const failed = first(
    open.filter(({ state }) => state === 2),
    (a, b) => b.attempts - a.attempts || time(a.failedAt) - time(b.failedAt) || a.number - b.number,
  );
  if (failed) return ['failed', failed];
  const running = first(
    open.filter(({ isRunning }) => isRunning === true),
    (a, b) => a.number - b.number,
  );
  if (running) return ['in_flight', running];
  const furthest = first(open, (a, b) => b.attempts - a.attempts || a.number - b.number) as MessageRow;
  if (open.some(({ state, isRetry }) => state === 1 && isRetry === true)) return ['retrying', furthest];
  return [open.some(({ state }) => state === 0) ? 'pending' : 'scheduled', furthest];
}

function first(rows: readonly MessageRow[], order: (a: MessageRow, b: MessageRow) => number): MessageRow | undefined {
  return [...rows].sort(order)[0];
}

function time(date: Date | undefined): number {
  return date?.getTime() ?? 0;
}

/** Each handler once: what is open, or its last run. */
function byHandler(rows: readonly MessageRow[]): ListedMessage['deliveries'] {
  const shown = new Map<number, MessageRow>();
  for (const row of rows) {
    const other = shown.get(row.number);
    if (other === undefined || row.state !== undefined || (other.state === undefined && row.rerun > other.rerun)) {
      shown.set(row.number, row);
    }
  }
  return [...shown.values()]
    .sort((a, b) => a.number - b.number)
    .map(({ service, handler, state, outcome }) => ({ service, handler, status: statusOf(state, outcome) }));
}

function statusOf(state: number | undefined, outcome: number | undefined): DeliveryStatus {
  return (state === undefined ? ENDED[outcome ?? 0] : OPEN[state]) ?? 'ready';
}
