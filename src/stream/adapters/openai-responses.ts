import { field, textField } from '../../retry/classify/field.ts';
import type { ChunkMeaning, StreamAdapter } from '../chunk-meaning.ts';
import { lengthOf } from './chunk-field.ts';
import { eventType } from './chunk-fit.ts';
import { reportedError } from './reported-error.ts';

/** The events of `responses.create({ stream: true })`. */
export interface OpenAiResponsesEvent {
  readonly type: string;
}

const PREAMBLE: ReadonlySet<string> = new Set([
  'response.created',
  'response.queued',
  'response.in_progress',
  'response.compaction.compacting',
  'response.reasoning_summary_part.added',
  'response.reasoning_summary_part.done',
]);

const END: ReadonlySet<string> = new Set(['response.completed', 'response.incomplete', 'response.cancelled']);

/**
 * OpenAI responses. Content: text, refusal, visible reasoning, audio, and any tool call from the moment its item is
 * added. Closed by `response.completed`, `response.incomplete` or `response.cancelled`; `response.failed` and `error` are
 * failures. An event nobody knows counts as content, because a retry would repeat it.
 */
export const openaiResponses: StreamAdapter<OpenAiResponsesEvent> = {
  reader: () => readEvent,
};

function readEvent(event: OpenAiResponsesEvent): ChunkMeaning {
  const type = eventType('openaiResponses', event);
  if (type === 'error') return reportedError(field(event, 'error') ?? event);
  if (type === 'response.failed') return reportedError(field(event, 'response', 'error') ?? { message: type });
  if (type === 'keepalive' || type === 'ping') return { kind: 'keep-alive' };
  if (END.has(type)) return { kind: 'preamble', end: true };
  if (PREAMBLE.has(type)) return { kind: 'preamble' };
  if (type === 'response.output_item.added') return itemAdded(textField(event, 'item', 'type') ?? '');
  const length =
    lengthOf(event, 'delta', 'text', 'refusal', 'arguments', 'input') + lengthOf(field(event, 'part'), 'text');
  const mayBeEmpty =
    type.endsWith('.delta') || type.startsWith('response.content_part.') || isEmptyReasoning(event, type);
  return length === 0 && mayBeEmpty ? { kind: 'preamble' } : { kind: 'content', length };
}

/** A message or a reasoning item is an empty frame when it is added; every other item is a tool call. */
function itemAdded(itemType: string): ChunkMeaning {
  return itemType === 'message' || itemType === 'reasoning' ? { kind: 'preamble' } : { kind: 'content', length: 0 };
}

/** Reasoning that is kept from us ends with an item that says nothing. */
function isEmptyReasoning(event: OpenAiResponsesEvent, type: string): boolean {
  const summary: unknown = field(event, 'item', 'summary');
  const isReasoning = type === 'response.output_item.done' && textField(event, 'item', 'type') === 'reasoning';
  return isReasoning && (!Array.isArray(summary) || summary.length === 0);
}
