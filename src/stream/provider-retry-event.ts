import type { FailureKind } from '../retry/failure.ts';

/**
 * Tells people that the provider failed before it said anything and that the request will be made again. Sent before each
 * wait, once. Transient: it belongs on the wire to the client, never in the kept history and never in a provider request.
 */
export interface ProviderRetryEvent {
  readonly type: 'provider-retry';
  readonly conversationId: string;
  readonly turnId: string;
  /** Which retry is about to happen; 0 is the first. */
  readonly attempt: number;
  /** How long the wait lasts. */
  readonly delayMs: number;
  /** What the provider said, word for word. */
  readonly message: string;
  /** The HTTP status when there was one (`"429"`), else the provider's or the client's own code (`"overloaded_error"`). */
  readonly code?: string;
  /** Attempts in all, the first included; absent when time, not their number, ends the retries. */
  readonly maxAttempts?: number;
  /** Epoch time at which the request is made again. */
  readonly nextAtMs?: number;
  /** All waiting scheduled before this wait. */
  readonly waitedMs?: number;
  /** What kind of trouble it is, for clients that have words of their own. */
  readonly kind?: FailureKind;
}

/**
 * Tells people that the wait announced by the event with the same `attempt` is over: the request is being made again, or
 * it is not (`cancelled`: by the caller, or because the wait itself failed). As transient as the event it closes; a client may ignore it.
 */
export interface ProviderRetryEndEvent {
  readonly type: 'provider-retry-end';
  readonly conversationId: string;
  readonly turnId: string;
  readonly attempt: number;
  readonly outcome: 'retrying' | 'cancelled';
}

/** What `retryStream` yields beside the provider's chunks. */
export type RetryStreamEvent = ProviderRetryEvent | ProviderRetryEndEvent;

type RequiredField = 'conversationId' | 'turnId' | 'attempt' | 'delayMs' | 'message';

/** Makes the event, frozen and safe to write as JSON: fields that are `undefined` are left out. */
export function providerRetryEvent(
  fields: Pick<ProviderRetryEvent, RequiredField> & {
    readonly [Field in Exclude<keyof ProviderRetryEvent, RequiredField | 'type'>]?:
      | ProviderRetryEvent[Field]
      | undefined;
  },
): ProviderRetryEvent {
  const known = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.freeze({ type: 'provider-retry', ...Object.fromEntries(known) } as ProviderRetryEvent);
}

/** True for the event that announces a wait, also when it came over a wire. Checks the fields every client relies on. */
export function isProviderRetryEvent(value: unknown): value is ProviderRetryEvent {
  const event = value as Partial<ProviderRetryEvent> | null | undefined;
  return (
    typeof event === 'object' &&
    event?.type === 'provider-retry' &&
    typeof event.conversationId === 'string' &&
    typeof event.turnId === 'string' &&
    Number.isInteger(event.attempt) &&
    Number.isFinite(event.delayMs) &&
    typeof event.message === 'string'
  );
}

/** True for the event that closes a wait, also when it came over a wire. */
export function isProviderRetryEndEvent(value: unknown): value is ProviderRetryEndEvent {
  const event = value as Partial<ProviderRetryEndEvent> | null | undefined;
  return (
    typeof event === 'object' &&
    event?.type === 'provider-retry-end' &&
    Number.isInteger(event.attempt) &&
    (event.outcome === 'retrying' || event.outcome === 'cancelled')
  );
}

/** True for either event of the retry; false for a chunk of the provider. */
export function isRetryStreamEvent(value: unknown): value is RetryStreamEvent {
  return isProviderRetryEvent(value) || isProviderRetryEndEvent(value);
}

/** The same list without the retry's events: what may be kept as history and sent to a provider again. */
export function withoutRetryEvents<Item>(items: Iterable<Item>): Exclude<Item, RetryStreamEvent>[] {
  return Array.from(items).filter((item): item is Exclude<Item, RetryStreamEvent> => !isRetryStreamEvent(item));
}
