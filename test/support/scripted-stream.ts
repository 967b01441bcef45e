import type { OpenStream, StreamAdapter, StreamAttemptContext } from '../../src/stream/index.ts';

/** A provider's events in the smallest format that has everything: for tests of the retry itself. */
export type ScriptEvent =
  | { readonly type: 'start' }
  | { readonly type: 'ping' }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'usage'; readonly tokens: number }
  | { readonly type: 'end' }
  | { readonly type: 'error'; readonly message: string; readonly retryable?: boolean; readonly code?: string };

export const START: ScriptEvent = { type: 'start' };
export const PING: ScriptEvent = { type: 'ping' };
export const END: ScriptEvent = { type: 'end' };
export const EMPTY: ScriptEvent = { type: 'text', text: '' };
export const USAGE: ScriptEvent = { type: 'usage', tokens: 7 };
export const text = (value: string): ScriptEvent => ({ type: 'text', text: value });
export const OVERLOADED: ScriptEvent = {
  type: 'error',
  message: 'HTTP 429: {"error":{"type":"overloaded_error"}}',
  code: '429',
  retryable: true,
};

export const scriptAdapter: StreamAdapter<ScriptEvent> = {
  reader: () => (event) => {
    switch (event.type) {
      case 'ping':
        return { kind: 'keep-alive' };
      case 'text':
        return event.text === '' ? { kind: 'preamble' } : { kind: 'content', length: event.text.length };
      case 'end':
        return { kind: 'preamble', end: true };
      case 'error': {
        const { message, code } = event;
        return { kind: 'error', retryable: event.retryable === true, message, ...(code && { code }) };
      }
      default:
        return { kind: 'preamble' };
    }
  },
};

/** What an attempt does next: gives an event, throws an error, or says nothing until it is aborted. */
export type ScriptStep = ScriptEvent | Error | 'hang';

export interface ScriptedStream {
  readonly open: OpenStream<ScriptEvent>;
  /** One for each attempt, in order. */
  readonly attempts: readonly StreamAttemptContext[];
  /** How many streams were closed, by their own end or from outside. */
  readonly closed: number;
}

/** Plays the first script for the first attempt, the second for the second, …; the last one again and again. */
export function scriptedStream(...scripts: readonly (readonly ScriptStep[])[]): ScriptedStream {
  const attempts: StreamAttemptContext[] = [];
  let closed = 0;
  const open: OpenStream<ScriptEvent> = async function* (context) {
    const script = scripts[Math.min(attempts.push(context), scripts.length) - 1] ?? [];
    try {
      for (const step of script) {
        if (step === 'hang') await aborted(context.signal);
        else if (step instanceof Error) throw step;
        else yield step;
      }
    } finally {
      closed += 1;
    }
  };
  return {
    open,
    attempts,
    get closed() {
      return closed;
    },
  };
}

/** As the clients of providers do it: the abort is swallowed and the stream just ends. */
async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
