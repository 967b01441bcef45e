import { reply, type Reply } from './scripted-server.ts';

/** The OpenAI wire formats: chat completions and responses, as frames of server-sent events. */
const frame = (value: object | string): string =>
  `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`;

const chunk = (delta: object, finishReason: string | null = null, index = 0): string =>
  frame({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1_767_225_600,
    model: 'gpt-test',
    choices: [{ index, delta, finish_reason: finishReason, logprobs: null }],
  });

export const chat = {
  role: (): string => chunk({ role: 'assistant', content: '' }),
  empty: (): string => chunk({ content: '' }),
  text: (content: string): string => chunk({ content }),
  tool: (name: string): string =>
    chunk({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name, arguments: '' } }] }),
  finish: (): string => chunk({}, 'stop'),
  usage: (): string =>
    frame({
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      created: 1_767_225_600,
      model: 'gpt-test',
      choices: [],
      usage: { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 },
    }),
  done: (): string => frame('[DONE]'),
  ping: (): string => ': keep-alive\n\n',
  error: (error: object): string => frame({ error }),
} as const;

/** A whole chat answer. */
export const chatAnswer = (...words: readonly string[]): Reply =>
  reply.stream([chat.role(), ...words.map(chat.text), chat.finish(), chat.usage(), chat.done()]);

export const openaiOverloaded = (status = 429, headers?: Record<string, string>): Reply =>
  reply.status(
    status,
    { error: { type: 'overloaded_error', message: 'The service is temporarily overloaded. Please retry.' } },
    headers,
  );

let sequence = 0;
const event = (type: string, fields: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence++, ...fields })}\n\n`;

const response = (status: string, fields: object = {}): object => ({
  response: {
    id: 'resp_1',
    object: 'response',
    created_at: 1_767_225_600,
    model: 'gpt-test',
    status,
    output: [],
    error: null,
    incomplete_details: null,
    usage: null,
    ...fields,
  },
});

export const responses = {
  created: (): string => event('response.created', response('in_progress')),
  inProgress: (): string => event('response.in_progress', response('in_progress')),
  itemAdded: (): string =>
    event('response.output_item.added', {
      output_index: 0,
      item: { id: 'msg_1', type: 'message', role: 'assistant', status: 'in_progress', content: [] },
    }),
  text: (delta: string): string =>
    event('response.output_text.delta', { item_id: 'msg_1', output_index: 0, content_index: 0, delta, logprobs: [] }),
  completed: (): string =>
    event(
      'response.completed',
      response('completed', {
        usage: {
          input_tokens: 7,
          input_tokens_details: { cached_tokens: 0 },
          output_tokens: 2,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: 9,
        },
      }),
    ),
  failed: (code: string, message: string): string =>
    event('response.failed', response('failed', { error: { code, message } })),
  error: (code: string, message: string): string => event('error', { code, message, param: null }),
} as const;

/** A whole answer of the responses API. */
export const responsesAnswer = (...words: readonly string[]): Reply =>
  reply.stream([
    responses.created(),
    responses.inProgress(),
    responses.itemAdded(),
    ...words.map(responses.text),
    responses.completed(),
  ]);
