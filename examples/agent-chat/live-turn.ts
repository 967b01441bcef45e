import type { ProviderRetryEvent } from 'holdfast/stream';
import type { TurnEvent, TurnOutcome } from './turn-event.ts';

/** Where a turn stands. What makes sense in one state only exists in that state only. */
type TurnState =
  | { readonly kind: 'answering' }
  | { readonly kind: 'waiting'; readonly retry: ProviderRetryEvent; readonly dueAtMs: number }
  | { readonly kind: 'sealed'; readonly outcome: TurnOutcome };

/** One question and what becomes of it. Goes on when nobody listens: a wait of half an hour outlives many a connection. */
export interface Turn {
  readonly id: string;
  readonly conversationId: string;
  readonly state: TurnState;
  /** Tells `listener` what has happened so far, and then all that happens; gives back how to stop. */
  follow(listener: (event: TurnEvent) => void): () => void;
  /** Ends the turn as aborted, also in the middle of a wait. Does nothing to a sealed turn. */
  cancel(): void;
}

/** A turn as its owner sees it. */
export interface LiveTurn extends Turn {
  readonly signal: AbortSignal;
  emit(event: TurnEvent): void;
}

/** Starts a turn that nothing has happened in but the question. */
export function createTurn(id: string, conversationId: string, question: string): LiveTurn {
  const aborter = new AbortController();
  const listeners = new Set<(event: TurnEvent) => void>();
  const start: TurnEvent = { type: 'turn-start', conversationId, turnId: id, text: question };
  let state: TurnState = { kind: 'answering' };
  let text = '';
  let error: TurnEvent | undefined;

  /** The turn so far, told again. A wait is told with what is left of it, and only while it lasts. */
  function soFar(): TurnEvent[] {
    const events = [start];
    if (text !== '') events.push({ type: 'text', conversationId, turnId: id, text });
    if (state.kind === 'waiting') events.push({ ...state.retry, delayMs: Math.max(0, state.dueAtMs - Date.now()) });
    if (error !== undefined) events.push(error);
    if (state.kind === 'sealed') events.push({ type: 'turn-end', conversationId, turnId: id, outcome: state.outcome });
    return events;
  }

  return {
    id,
    conversationId,
    signal: aborter.signal,
    get state() {
      return state;
    },
    emit(event) {
      if (event.type === 'text') text += event.text;
      if (event.type === 'error') error = event;
      state = nextState(event, Date.now());
      for (const listener of listeners) listener(event);
    },
    follow(listener) {
      for (const event of soFar()) listener(event);
      if (state.kind !== 'sealed') listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    cancel() {
      if (state.kind !== 'sealed') aborter.abort();
    },
  };
}

function nextState(event: TurnEvent, nowMs: number): TurnState {
  switch (event.type) {
    case 'provider-retry':
      return { kind: 'waiting', retry: event, dueAtMs: nowMs + event.delayMs };
    case 'turn-end':
      return { kind: 'sealed', outcome: event.outcome };
    case 'turn-start':
    case 'provider-retry-end':
    case 'text':
    case 'error':
      return { kind: 'answering' };
    default:
      return event satisfies never;
  }
}
