import type { ChunkMeaning, StreamAdapter } from '../chunk-meaning.ts';
import type { SseEvent } from '../sse-events.ts';
import { field } from '../../retry/classify/field.ts';
import { isPlainObject, isSseEvent, wrongAdapter } from './chunk-fit.ts';
import { reportedError } from './reported-error.ts';

/** What `sse` takes. */
export interface SseOptions {
  /** Reads the JSON in each event's data: `sse({ payload: openaiChat })` for chat completions fetched by hand. */
  readonly payload?: StreamAdapter<never> | undefined;
  /** Names of events that close the stream, besides `data: [DONE]`. */
  readonly endEvents?: readonly string[] | undefined;
}

/**
 * Server-sent events as `sseEvents` gives them. Comments and `ping` events are keep-alives, `error` events are failures,
 * `data: [DONE]` closes the stream. All other data is content; with `payload` its JSON is read by that adapter.
 */
export function sse(options: SseOptions = {}): StreamAdapter<SseEvent> {
  const { payload, endEvents = [] } = options;
  return {
    reader() {
      const readPayload = payload?.reader();
      return (chunk): ChunkMeaning => {
        if (!isSseEvent(chunk)) throw wrongAdapter('sse()', chunk);
        if (chunk.kind === 'comment' || chunk.event === 'ping') return { kind: 'keep-alive' };
        if (chunk.data === '[DONE]' || endEvents.includes(chunk.event)) return { kind: 'preamble', end: true };
        const value = parsed(chunk.data);
        if (chunk.event === 'error') return reportedError(field(value, 'error') ?? value ?? chunk.data);
        // Data that is no JSON object was still sent to be shown.
        if (readPayload && isPlainObject(value)) return readPayload(value as never);
        return chunk.data === '' ? { kind: 'preamble' } : { kind: 'content', length: chunk.data.length };
      };
    },
  };
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}
