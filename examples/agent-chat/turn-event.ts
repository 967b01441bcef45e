import type { ProviderRetryEndEvent, ProviderRetryEvent } from 'holdfast/stream';

/** How a turn ended. */
export type TurnOutcome = 'completed' | 'aborted' | 'failed';

interface OfTurn {
  readonly conversationId: string;
  readonly turnId: string;
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
  | (OfTurn & { readonly type: 'error'; readonly message: string; readonly code?: string })
  | (OfTurn & { readonly type: 'turn-end'; readonly outcome: TurnOutcome });

/** What is kept of a conversation. Retries are not: there is no member for them. */
export type HistoryEntry = { readonly turnId: string } & (
  | { readonly role: 'user' | 'assistant'; readonly text: string }
  | { readonly role: 'error'; readonly message: string; readonly code?: string }
  | { readonly role: 'aborted' }
);
