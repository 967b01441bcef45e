import { field, textField } from '../../retry/classify/field.ts';
import type { ChunkMeaning, StreamAdapter } from '../chunk-meaning.ts';
import { lengthOf } from './chunk-field.ts';
import { eventType } from './chunk-fit.ts';
import { reportedError } from './reported-error.ts';

/** The events of `messages.create({ stream: true })` and of `messages.stream()`. */
export interface AnthropicEvent {
  readonly type: string;
}

const FRAMES: ReadonlySet<string> = new Set(['text', 'thinking', 'redacted_thinking']);

/**
 * Anthropic messages. Content: text, visible thinking, citations, and any tool block from its start. Usage and the stop
 * reason are not. Closed by `message_stop`. An event nobody knows counts as content, because a retry would repeat it.
 */
export const anthropicMessages: StreamAdapter<AnthropicEvent> = {
  reader: () => readEvent,
};

function readEvent(event: AnthropicEvent): ChunkMeaning {
  switch (eventType('anthropicMessages', event)) {
    case 'ping':
      return { kind: 'keep-alive' };
    case 'error':
      return reportedError(field(event, 'error'));
    case 'message_stop':
      return { kind: 'preamble', end: true };
    case 'message_start':
    case 'message_delta':
    case 'content_block_stop':
      return { kind: 'preamble' };
    case 'content_block_start':
      return blockStart(field(event, 'content_block'));
    case 'content_block_delta':
      return blockDelta(field(event, 'delta'));
    default:
      return { kind: 'content', length: 0 };
  }
}

/** A text or thinking block starts as an empty frame; every other block is a tool call or its result. */
function blockStart(block: unknown): ChunkMeaning {
  const length = lengthOf(block, 'text', 'thinking');
  return length === 0 && FRAMES.has(textField(block, 'type') ?? '')
    ? { kind: 'preamble' }
    : { kind: 'content', length };
}

function blockDelta(delta: unknown): ChunkMeaning {
  const type = textField(delta, 'type');
  if (type === 'citations_delta') return { kind: 'content', length: 0 };
  // A signature belongs to thinking that nobody is shown.
  const length = lengthOf(delta, 'text', 'thinking', 'partial_json');
  const known =
    type === 'text_delta' || type === 'thinking_delta' || type === 'input_json_delta' || type === 'signature_delta';
  return known && length === 0 ? { kind: 'preamble' } : { kind: 'content', length };
}
