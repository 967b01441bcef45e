import type { ProviderRetryEndEvent, ProviderRetryEvent } from 'holdfast/stream';

/** How a turn ended. */
export type TurnOutcome = 'completed' | 'aborted' | 'failed';

interface OfTurn {
  readonly conversationId: string;
  readonly turnId: string;
}

/** Why a turn failed, and what had happened before. */
export interface TurnFailure {
  /** What the provider or its client said, word for word. */
  readonly message: string;
  readonly code?: string;
  /** A part of the answer had been shown. */
  readonly cutOff: boolean;
  /** How often the provider was asked again. */
  readonly retries: number;
  /** All waiting before those retries. */
  readonly waitedMs: number;
}

/**
 * What a client is told about a turn, on either transport, in this order: one `turn-start`; then retries and text; an
 * `error` if it failed; one `turn-end`, after which nothing comes.
 */
export type TurnEvent =
  | (OfTurn & { readonly type: 'turn-start'; readonly text: string })
  | ProviderRetryEvent
  | ProviderRetryEndEvent
  | (OfTurn & { readonly type: 'text'; readonly text: string })
  | (OfTurn & TurnFailure & { readonly type: 'error' })
  | (OfTurn & { readonly type: 'turn-end'; readonly outcome: TurnOutcome });

/** What is kept of a conversation. Retry events are not: there is no member for them; a failure says how many there were. */
export type HistoryEntry = { readonly turnId: string } & (
  | { readonly role: 'user' | 'assistant'; readonly text: string }
  | (TurnFailure & { readonly role: 'error' })
  | { readonly role: 'aborted' }
);
