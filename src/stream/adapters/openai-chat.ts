import { field, textField } from '../../retry/classify/field.ts';
import type { ChunkMeaning, StreamAdapter } from '../chunk-meaning.ts';
import { lengthOf, listField } from './chunk-field.ts';
import { isPlainObject, isSseEvent, wrongAdapter } from './chunk-fit.ts';
import { reportedError } from './reported-error.ts';

/** The chunks of `chat.completions.create({ stream: true })`, of OpenAI and of everything that speaks its format. */
export interface OpenAiChatChunk {
  readonly choices: readonly unknown[];
}

/**
 * OpenAI chat completions. Content: text, refusal, audio, a tool or function call, and visible reasoning
 * (`reasoning_content`, `reasoning`). Closed when every choice that was seen has its `finish_reason`: the client keeps
 * the `[DONE]` mark to itself. An object without `choices` counts as content, because a retry might repeat it, unless it
 * brings usage; a stream that begins with something else is refused with `INVALID_OPTIONS`.
 */
export const openaiChat: StreamAdapter<OpenAiChatChunk> = {
  reader() {
    const unfinished = new Set<unknown>();
    let hasChoices = false;
    let isClosed = false;
    return (chunk): ChunkMeaning => {
      const error = field(chunk, 'error');
      if (error) return reportedError(error);
      if (!Array.isArray(field(chunk, 'choices'))) {
        if (isForeign(chunk, hasChoices)) throw wrongAdapter('openaiChat', chunk);
        // Some servers send the usage without choices, after the answer is closed; it must not open it again.
        return field(chunk, 'usage') ? { kind: 'preamble' } : { kind: 'content', length: 0, end: isClosed };
      }
      hasChoices = true;
      let length = 0;
      let hasContent = false;
      let finished = false;
      for (const choice of listField(chunk, 'choices')) {
        const index = field(choice, 'index') ?? 0;
        const delta = field(choice, 'delta');
        const size = deltaLength(delta);
        length += size;
        hasContent ||= size > 0 || hasToolCall(delta);
        unfinished.add(index);
        if (typeof field(choice, 'finish_reason') === 'string') finished = unfinished.delete(index);
      }
      const end = finished && unfinished.size === 0;
      isClosed = unfinished.size === 0 && (isClosed || end);
      return hasContent ? { kind: 'content', length, end } : { kind: 'preamble', end };
    };
  },
};

/** Once choices were seen the adapter is the right one, and an odd object must not cut the answer short. */
function isForeign(chunk: unknown, hasChoices: boolean): boolean {
  if (!isPlainObject(chunk)) return true;
  return !hasChoices && (textField(chunk, 'type') !== undefined || isSseEvent(chunk));
}

function deltaLength(delta: unknown): number {
  const calls = [...listField(delta, 'tool_calls'), { function: field(delta, 'function_call') }];
  return (
    lengthOf(delta, 'content', 'refusal', 'reasoning_content', 'reasoning') +
    lengthOf(field(delta, 'audio'), 'data', 'transcript') +
    calls.reduce<number>(
      (sum, call) => sum + lengthOf(field(call, 'function'), 'arguments') + lengthOf(field(call, 'custom'), 'input'),
      0,
    )
  );
}

function hasToolCall(delta: unknown): boolean {
  return listField(delta, 'tool_calls').length > 0 || typeof field(delta, 'function_call', 'name') === 'string';
}
