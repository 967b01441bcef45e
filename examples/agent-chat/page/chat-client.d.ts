import type { HistoryEntry, TurnEvent } from '../turn-event.ts';

/** What the client tells: the conversation when it is joined (again), then each turn's events, and refusals. */
export type ChatEvent =
  | TurnEvent
  | { readonly type: 'conversation'; readonly conversationId: string; readonly messages: readonly HistoryEntry[] }
  | { readonly type: 'refused'; readonly message: string };

/** `lost` means that it will be tried again. */
export type ConnectionState = 'connecting' | 'open' | 'lost';

export interface ChatClientOptions {
  /** Where the chat server is. */
  readonly url: string;
  readonly transport: 'ws' | 'lines';
  readonly conversationId: string;
  readonly onEvent: (event: ChatEvent) => void;
  readonly onConnection: (state: ConnectionState) => void;
}

export interface ChatClient {
  /** Asks; what becomes of it comes as events. False when there is no connection to ask over. */
  ask(text: string): boolean;
  /** Cancels a turn. False when there is no connection. */
  cancel(turnId: string): boolean;
  /** Lets go of the connection. A turn under way goes on. */
  close(): void;
}

export function openChat(options: ChatClientOptions): ChatClient;
