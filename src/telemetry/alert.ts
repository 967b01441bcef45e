import type { DeliveryError } from '../relay/relay-store.ts';

interface About {
  /** A new one for each alert, for receivers that may get one twice. */
  readonly id: string;
  /** ISO 8601. */
  readonly at: string;
  /** The same for alerts of one cause: `dead charge-card TypeError: x is not a function`. */
  readonly group: string;
  /** One line for people. */
  readonly text: string;
}

/** What a dead letter's alert says about the message. */
export interface DeadMessage {
  /** The id of the dead letter, as the store's commands take it: `holdfast dlq:show <dlqId>`. */
  readonly dlqId: string;
  readonly eventId: string;
  readonly type: string;
  readonly source: string;
  readonly target: string | undefined;
  readonly handler: string;
  readonly key: string | undefined;
  readonly attempts: number;
  readonly idempotencyKey: string;
  readonly correlationId: string | undefined;
  readonly traceId: string | undefined;
}

/** The others of the same cause that were held back in the minute before. */
export interface Suppressed {
  readonly count: number;
  /** Of the first 20. */
  readonly eventIds: readonly string[];
}

/** Handlers whose dependency is down. */
interface Outage {
  readonly handlers: readonly string[];
  /** The breaker they share, by name. Absent: they have none. */
  readonly dependency: string | undefined;
  /** Messages that wait, as far as this process knows. */
  readonly count: number;
  /** How long it has lasted: nothing succeeded, or the oldest of these messages failed. */
  readonly ageMs: number;
}

/** What somebody should know. */
export type Alert = About &
  (
    | (DeadMessage & {
        /** A message failed for good. */
        readonly kind: 'dead';
        readonly reason: string;
        readonly error: DeliveryError;
        readonly suppressed: Suppressed;
      })
    | (DeadMessage & {
        /** A message was set aside behind a dead letter of its key. */
        readonly kind: 'parked';
        readonly suppressed: Suppressed;
      })
    | {
        /** Open deliveries that no live worker serves. */
        readonly kind: 'unserved';
        readonly reason: 'no-handler' | 'no-worker' | 'generation-unserved';
        readonly handler: string | undefined;
        readonly type: string | undefined;
        readonly generation: number | undefined;
        readonly count: number;
      }
    | (Outage & {
        /** What these handlers call is down: nothing of them is started but one message every few seconds. */
        readonly kind: 'breaker-open';
        readonly error: DeliveryError | undefined;
      })
    | (Outage & { /** It is back, and what waited goes on. */ readonly kind: 'breaker-closed' })
    | (Outage & {
        /** Messages have waited for longer than the limit because of an outage; once `maxMs` is spent they become dead letters. */
        readonly kind: 'starving';
        readonly eventId: string;
        readonly limitMs: number;
        readonly maxMs: number;
        readonly error: DeliveryError;
      })
    | { /** Senders are refused. */ readonly kind: 'outbox-full'; readonly pending: number }
    | {
        /** The oldest delivery that is ready has waited longer than the limit. */
        readonly kind: 'oldest-age';
        readonly oldestMs: number;
        readonly limitMs: number;
        readonly pending: number;
      }
    | {
        /** The database has failed several times in a row. */
        readonly kind: 'store-failing';
        readonly during: string;
        readonly failures: number;
        readonly error: DeliveryError;
      }
  );

/** An alert without what all of them have. */
export type AlertFacts = Alert extends infer One ? (One extends Alert ? Omit<One, keyof About> : never) : never;

/** Where alerts go. What it throws, or its promise, is dropped: an alert never fails a message. */
export type AlertSink = (alert: Alert) => unknown;

/** What is said about it in one line. */
export function alertText(facts: AlertFacts): string {
  switch (facts.kind) {
    case 'dead':
      return `${facts.handler} gave up on ${facts.type} ${facts.eventId} after ${counted(facts.attempts, 'attempt')} (${facts.reason}): ${facts.error.name}: ${facts.error.message}${more(facts.suppressed)}`;
    case 'parked':
      return `${facts.type} ${facts.eventId} was set aside for ${facts.handler}, behind a dead letter of its key${more(facts.suppressed)}`;
    case 'unserved':
      return `${counted(facts.count, 'message')} ${facts.type ?? facts.handler ?? ''} that nobody serves: ${unservedReason(facts)}`;
    case 'breaker-open':
      return `${outageText(facts)} is down, nothing has succeeded for ${seconds(facts.ageMs)}: ${counted(facts.count, 'message')} of ${facts.handlers.join(', ')} wait${facts.error ? `: ${facts.error.name}: ${facts.error.message}` : ''}`;
    case 'breaker-closed':
      return `${outageText(facts)} is back after ${seconds(facts.ageMs)}: ${counted(facts.count, 'message')} of ${facts.handlers.join(', ')} go on`;
    case 'starving':
      return `${counted(facts.count, 'message')} of ${facts.handlers.join(', ')} wait because ${outageText(facts)} is down, the oldest for ${seconds(facts.ageMs)}, and are given up after ${seconds(facts.maxMs)}: ${facts.error.name}: ${facts.error.message}`;
    case 'outbox-full':
      return `the outbox is full, senders are refused: ${facts.pending} pending`;
    case 'oldest-age':
      return `the oldest message waits for ${seconds(facts.oldestMs)}, more than ${seconds(facts.limitMs)}; ${facts.pending} pending`;
    case 'store-failing':
      return `the database failed ${facts.failures} times in a row (${facts.during}): ${facts.error.name}: ${facts.error.message}`;
    default:
      return facts satisfies never;
  }
}

function unservedReason({ reason, handler, type, generation }: AlertFacts & { kind: 'unserved' }): string {
  switch (reason) {
    case 'no-handler':
      return `no handler is known for ${type ?? 'the type'}`;
    case 'no-worker':
      return `no worker runs ${handler ?? 'the handler'}`;
    case 'generation-unserved':
      return `no worker runs ${handler ?? 'the handler'} in generation ${generation ?? '?'}`;
    default:
      return reason satisfies never;
  }
}

function outageText({ dependency, handlers }: Outage): string {
  return dependency ?? `what ${handlers.join(', ')} calls`;
}

function more({ count }: Suppressed): string {
  return count === 0 ? '' : ` (and ${count} more of this cause)`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1_000)} s`;
}
