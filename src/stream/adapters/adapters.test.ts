import { describe, expect, test } from 'vitest';
import {
  aiSdk,
  anthropicMessages,
  type ChunkMeaning,
  openaiChat,
  openaiResponses,
  sse,
  type SseEvent,
  type StreamAdapter,
} from '../index.ts';

/** One chunk read by a fresh reader, in one word; content with its length. */
function meaningOf(adapter: StreamAdapter<never>, chunk: unknown): string {
  return inWords(adapter.reader()(chunk as never));
}

function inWords(meaning: ChunkMeaning): string {
  switch (meaning.kind) {
    case 'content':
      return `content ${meaning.length}${meaning.end ? ' end' : ''}`;
    case 'preamble':
      return meaning.end ? 'end' : 'preamble';
    case 'error':
      return `${meaning.retryable ? 'retryable' : 'final'} ${meaning.failure ?? 'unknown'}`;
    default:
      return meaning.kind;
  }
}

const choice = (delta: object, finish: string | null = null, index = 0): object => ({
  choices: [{ index, delta, finish_reason: finish }],
});

describe('openaiChat', () => {
  test.each<[string, unknown, string]>([
    ['the role', choice({ role: 'assistant', content: '' }), 'preamble'],
    ['an empty delta', choice({ content: '' }), 'preamble'],
    ['a null delta', choice({ content: null }), 'preamble'],
    ['filter results before the answer', { choices: [], prompt_filter_results: [] }, 'preamble'],
    ['usage of its own', { choices: [], usage: { total_tokens: 9 } }, 'preamble'],
    ['usage beside the role', { ...choice({ role: 'assistant' }), usage: { total_tokens: 9 } }, 'preamble'],
    ['text', choice({ content: 'hi' }), 'content 2'],
    ['a refusal', choice({ refusal: 'no' }), 'content 2'],
    ['visible reasoning', choice({ reasoning_content: 'hm' }), 'content 2'],
    [
      'a tool call without arguments yet',
      choice({ tool_calls: [{ index: 0, id: 'x', function: { name: 'f', arguments: '' } }] }),
      'content 0',
    ],
    ['tool arguments', choice({ tool_calls: [{ index: 0, function: { arguments: '{"a"' } }] }), 'content 4'],
    ['a function call', choice({ function_call: { name: 'f' } }), 'content 0'],
    ['audio', choice({ audio: { id: 'a', transcript: 'abc' } }), 'content 3'],
    ['the finish reason', choice({}, 'stop'), 'end'],
    ['text with the finish reason', choice({ content: 'hi' }, 'stop'), 'content 2 end'],
    ['an overload', { error: { code: 'server_is_overloaded', message: 'x' } }, 'retryable overload'],
    ['a bad request', { error: { type: 'invalid_request_error', message: 'x' } }, 'final invalid'],
    ['usage without choices', { usage: { total_tokens: 9 } }, 'preamble'],
    ['an object nobody knows', { id: 'x' }, 'content 0'],
  ])('reads %s [S2.3]', (_, chunk, meaning) => {
    expect(meaningOf(openaiChat, chunk)).toBe(meaning);
  });

  test('is closed when every choice that was seen has finished, in each attempt anew [S2.3]', () => {
    for (let attempt = 0; attempt < 2; attempt++) {
      const read = openaiChat.reader();
      const both = {
        choices: [
          { index: 0, delta: { content: 'a' } },
          { index: 1, delta: { content: 'b' } },
        ],
      };
      const chunks = [both, choice({}, 'stop', 0), choice({ content: 'c' }, null, 1), choice({}, 'length', 1)];
      expect(chunks.map((chunk) => inWords(read(chunk as never)))).toEqual([
        'content 2',
        'preamble',
        'content 1',
        'end',
      ]);
    }
  });

  test('an odd object amid the choices neither cuts the answer short nor opens a closed one again [S2.3]', () => {
    const read = openaiChat.reader();
    const odd = { type: 'note' };
    const chunks = [choice({ content: 'a' }), odd, choice({}, 'stop'), odd, { usage: { total_tokens: 9 } }];
    expect(chunks.map((chunk) => inWords(read(chunk as never)))).toEqual([
      'content 1',
      'content 0',
      'end',
      'content 0 end',
      'preamble',
    ]);
  });
});

describe('openaiResponses', () => {
  const item = (type: string, fields: object = {}): object => ({ item: { type, ...fields } });
  test.each<[string, unknown, string]>([
    ['response.created', {}, 'preamble'],
    ['response.queued', {}, 'preamble'],
    ['response.in_progress', {}, 'preamble'],
    ['response.output_item.added', item('message'), 'preamble'],
    ['response.output_item.added', item('reasoning'), 'preamble'],
    ['response.output_item.added', item('function_call'), 'content 0'],
    ['response.output_item.done', item('reasoning', { summary: [] }), 'preamble'],
    ['response.output_item.done', item('message'), 'content 0'],
    ['response.content_part.added', { part: { type: 'output_text', text: '' } }, 'preamble'],
    ['response.content_part.done', { part: { type: 'output_text', text: 'hi' } }, 'content 2'],
    ['response.output_text.delta', { delta: '' }, 'preamble'],
    ['response.output_text.delta', { delta: 'hi' }, 'content 2'],
    ['response.refusal.delta', { delta: 'no' }, 'content 2'],
    ['response.reasoning_summary_part.added', {}, 'preamble'],
    ['response.reasoning_summary_text.delta', { delta: 'hm' }, 'content 2'],
    ['response.reasoning_text.delta', { delta: 'hm' }, 'content 2'],
    ['response.function_call_arguments.delta', { delta: '{' }, 'content 1'],
    ['response.web_search_call.searching', {}, 'content 0'],
    ['response.something_new', {}, 'content 0'],
    ['keepalive', {}, 'keep-alive'],
    ['response.completed', {}, 'end'],
    ['response.incomplete', {}, 'end'],
    ['response.failed', { response: { error: { code: 'server_error', message: 'x' } } }, 'retryable http'],
    ['response.failed', { response: { error: { code: 'invalid_prompt', message: 'x' } } }, 'final invalid'],
    ['response.failed', {}, 'final unknown'],
    ['error', { code: 'rate_limit_exceeded', message: 'x' }, 'retryable rate-limit'],
    ['error', { error: { type: 'insufficient_quota', message: 'x' } }, 'final quota'],
  ])('reads %s with %j as it should [S2.3]', (type, fields, meaning) => {
    expect(meaningOf(openaiResponses, { type, ...(fields as object) })).toBe(meaning);
  });
});

describe('anthropicMessages', () => {
  const block = (type: string, fields: object = {}): object => ({ content_block: { type, ...fields } });
  const delta = (type: string, fields: object): object => ({ delta: { type, ...fields } });
  test.each<[string, unknown, string]>([
    ['message_start', { message: { usage: { input_tokens: 7 } } }, 'preamble'],
    ['ping', {}, 'keep-alive'],
    ['content_block_start', block('text', { text: '' }), 'preamble'],
    ['content_block_start', block('thinking', { thinking: '' }), 'preamble'],
    ['content_block_start', block('redacted_thinking', { data: 'xyz' }), 'preamble'],
    ['content_block_start', block('text', { text: 'hi' }), 'content 2'],
    ['content_block_start', block('tool_use', { name: 'f' }), 'content 0'],
    ['content_block_start', block('server_tool_use', { name: 'f' }), 'content 0'],
    ['content_block_delta', delta('text_delta', { text: '' }), 'preamble'],
    ['content_block_delta', delta('text_delta', { text: 'hi' }), 'content 2'],
    ['content_block_delta', delta('thinking_delta', { thinking: 'hm' }), 'content 2'],
    ['content_block_delta', delta('signature_delta', { signature: 'xyz' }), 'preamble'],
    ['content_block_delta', delta('input_json_delta', { partial_json: '' }), 'preamble'],
    ['content_block_delta', delta('input_json_delta', { partial_json: '{"' }), 'content 2'],
    ['content_block_delta', delta('citations_delta', {}), 'content 0'],
    ['content_block_delta', delta('new_delta', {}), 'content 0'],
    ['content_block_stop', {}, 'preamble'],
    ['message_delta', { usage: { output_tokens: 2 } }, 'preamble'],
    ['message_stop', {}, 'end'],
    ['something_new', {}, 'content 0'],
    ['error', { error: { type: 'overloaded_error', message: 'x' } }, 'retryable overload'],
    ['error', { error: { type: 'api_error', message: 'x' } }, 'retryable http'],
    ['error', { error: { type: 'rate_limit_error', message: 'x' } }, 'retryable rate-limit'],
    ['error', { error: { type: 'authentication_error', message: 'x' } }, 'final auth'],
    ['error', {}, 'final unknown'],
  ])('reads %s with %j as it should [S2.3]', (type, fields, meaning) => {
    expect(meaningOf(anthropicMessages, { type, ...(fields as object) })).toBe(meaning);
  });
});

describe('aiSdk', () => {
  test.each<[string, unknown, string]>([
    ['start', {}, 'preamble'],
    ['start-step', {}, 'preamble'],
    ['stream-start', {}, 'preamble'],
    ['response-metadata', {}, 'preamble'],
    ['custom', { kind: 'anthropic.message_start' }, 'preamble'],
    ['custom', { kind: 'openai.compaction' }, 'content 0'],
    ['text-start', {}, 'preamble'],
    ['text-delta', { text: '' }, 'preamble'],
    ['text-delta', { text: 'hi' }, 'content 2'],
    ['text-delta', { delta: 'hi' }, 'content 2'],
    ['reasoning-delta', { text: '' }, 'preamble'],
    ['reasoning-delta', { text: 'hm' }, 'content 2'],
    ['tool-input-start', { toolName: 'f' }, 'content 0'],
    ['tool-call', { toolName: 'f' }, 'content 0'],
    ['file', {}, 'content 0'],
    ['something-new', {}, 'content 0'],
    ['raw', { rawValue: {} }, 'preamble'],
    ['ping', {}, 'keep-alive'],
    ['abort', {}, 'preamble'],
    ['finish-step', {}, 'preamble'],
    ['finish', { finishReason: 'stop', rawFinishReason: 'stop' }, 'end'],
    ['finish', { finishReason: 'length' }, 'end'],
    ['finish', { finishReason: 'other', rawFinishReason: 'compaction' }, 'end'],
    ['finish', { finishReason: { unified: 'stop', raw: 'end_turn' } }, 'end'],
    ['finish', { finishReason: 'interrupted' }, 'preamble'],
    ['finish', { finishReason: { unified: 'other', raw: undefined } }, 'preamble'],
    ['error', { error: new Error('terminated') }, 'caught'],
    ['error', { error: { type: 'overloaded_error', message: 'x' } }, 'retryable overload'],
    ['error', { error: { error: { code: 'insufficient_quota', message: 'x' } } }, 'final quota'],
    ['error', { error: 'something' }, 'final unknown'],
  ])('reads %s with %j as it should [S2.3]', (type, fields, meaning) => {
    expect(meaningOf(aiSdk, { type, ...(fields as object) })).toBe(meaning);
  });
});

describe('sse', () => {
  const event = (data: string, name = 'message'): SseEvent => ({ kind: 'event', event: name, data, id: '' });
  const plain = sse({ endEvents: ['done'] });
  const chat = sse({ payload: openaiChat });
  test.each<[string, StreamAdapter<SseEvent>, SseEvent, string]>([
    ['a comment', plain, { kind: 'comment', text: 'ping' }, 'keep-alive'],
    ['a ping event', plain, event('{}', 'ping'), 'keep-alive'],
    ['data', plain, event('hello'), 'content 5'],
    ['an event without data', plain, event('', 'begin'), 'preamble'],
    ['[DONE]', plain, event('[DONE]'), 'end'],
    ['a closing event', plain, event('{}', 'done'), 'end'],
    [
      'an error event',
      plain,
      event('{"error":{"type":"overloaded_error","message":"x"}}', 'error'),
      'retryable overload',
    ],
    ['an error event in words', plain, event('went wrong', 'error'), 'final unknown'],
    ['a chunk of chat', chat, event('{"choices":[{"delta":{"content":"hi"}}]}'), 'content 2'],
    ['the preamble of chat', chat, event('{"choices":[{"delta":{"role":"assistant"}}]}'), 'preamble'],
    ['the error of chat', chat, event('{"error":{"code":503,"message":"x"}}'), 'retryable overload'],
    ['data that is not JSON', chat, event('hello'), 'content 5'],
    ['data that is no JSON object', chat, event('5'), 'content 1'],
  ])('reads %s [S2.3]', (_, adapter, chunk, meaning) => {
    expect(meaningOf(adapter, chunk)).toBe(meaning);
  });
});

describe('an error inside a stream', () => {
  const read = (error: unknown): ChunkMeaning => anthropicMessages.reader()({ type: 'error', error } as never);

  test.each<[string, unknown, string]>([
    ['a status of 500', { code: 500, message: 'x' }, 'retryable http'],
    ['a status of 529 as text', { status: '529', message: 'x' }, 'retryable overload'],
    ['a status of 501', { code: 501, message: 'x' }, 'final http'],
    ['a status of 418', { code: 418, message: 'x' }, 'final http'],
    ['UNAVAILABLE', { code: 503, status: 'UNAVAILABLE', message: 'x' }, 'retryable overload'],
    ['RESOURCE_EXHAUSTED', { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'x' }, 'retryable rate-limit'],
    [
      'a rate limit that is an empty account',
      { type: 'rate_limit_error', code: 'insufficient_quota', message: 'x' },
      'final quota',
    ],
    ['a bad request that says 500', { type: 'invalid_request_error', code: 500, message: 'x' }, 'final invalid'],
    ['a word nobody knows', { type: 'weather_error', message: 'x' }, 'final unknown'],
  ])('is judged by its codes: %s [S2.3]', (_, error, meaning) => {
    expect(inWords(read(error))).toBe(meaning);
  });

  test('keeps its words and its code for people [S2.2]', () => {
    expect(read({ type: 'overloaded_error', message: 'Overloaded' })).toMatchObject({
      message: 'Overloaded',
      code: 'overloaded_error',
    });
    expect(read({ detail: 'odd' })).toMatchObject({ message: '{"detail":"odd"}', retryable: false });
    expect(read(undefined)).toMatchObject({ message: 'unknown error', retryable: false });
  });
});
