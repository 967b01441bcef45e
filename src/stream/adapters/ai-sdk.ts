import { field, textField } from '../../retry/classify/field.ts';
import type { ChunkMeaning, StreamAdapter } from '../chunk-meaning.ts';
import { lengthOf } from './chunk-field.ts';
import { eventType } from './chunk-fit.ts';
import { reportedError } from './reported-error.ts';

/** The parts of `streamText(…).stream` (`fullStream` before version 7), and of a model's own `doStream`. */
export interface AiSdkPart {
  readonly type: string;
}

// `raw` repeats what the parsed parts around it say; `abort` says that the stream ended early, and a stream that ends
// without `finish` has failed anyway.
const PREAMBLE: ReadonlySet<string> = new Set([
  'start',
  'start-step',
  'stream-start',
  'response-metadata',
  'model-call-start',
  'model-call-response-metadata',
  'text-start',
  'text-end',
  'reasoning-start',
  'reasoning-end',
  'model-call-end',
  'finish-step',
  'raw',
  'abort',
]);

const DELTAS: ReadonlySet<string> = new Set(['text-delta', 'reasoning-delta']);

/** Custom parts that only say which model answers. */
const CUSTOM_PREAMBLE: ReadonlySet<string> = new Set(['anthropic.message_start', 'anthropic.fallback']);

/**
 * The AI SDK. Content: text and reasoning that is not empty, tool input, calls and results, files, sources. Closed by
 * a `finish` that says why: the SDK makes one up when the provider just stops. Errors that the SDK caught and put into the stream are judged as if they had been thrown. A part nobody knows
 * counts as content, because a retry would repeat it.
 */
export const aiSdk: StreamAdapter<AiSdkPart> = {
  reader: () => readPart,
};

function readPart(part: AiSdkPart): ChunkMeaning {
  const type = eventType('aiSdk', part);
  if (type === 'ping') return { kind: 'keep-alive' };
  if (type === 'finish') return { kind: 'preamble', end: namesReason(part) };
  if (type === 'error') {
    const error = field(part, 'error');
    return error instanceof Error ? { kind: 'caught', error } : reportedError(field(error, 'error') ?? error);
  }
  if (PREAMBLE.has(type)) return { kind: 'preamble' };
  if (type === 'custom' && CUSTOM_PREAMBLE.has(textField(part, 'kind') ?? '')) return { kind: 'preamble' };
  const length = lengthOf(part, 'text', 'delta');
  return length === 0 && DELTAS.has(type) ? { kind: 'preamble' } : { kind: 'content', length };
}

function namesReason(part: AiSdkPart): boolean {
  const reason = textField(part, 'finishReason') ?? textField(part, 'finishReason', 'unified') ?? 'other';
  const raw = textField(part, 'rawFinishReason') ?? textField(part, 'finishReason', 'raw');
  return raw !== undefined || !['interrupted', 'other', 'unknown'].includes(reason);
}
