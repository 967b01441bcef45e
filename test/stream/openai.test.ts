import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { llmProvider } from '../../src/retry/policies.ts';
import { isProviderRetryEvent, openaiChat, openaiResponses, retryStream } from '../../src/stream/index.ts';
import { virtualTime } from '../../src/testing/virtual-time.ts';
import { chat, chatAnswer, openaiOverloaded, responses, responsesAnswer } from '../support/providers/openai.ts';
import { reply, startScriptedServer } from '../support/providers/scripted-server.ts';
import { describeClient } from './client-cases.ts';

const client = (url: string): OpenAI => new OpenAI({ apiKey: 'test', baseURL: `${url}/v1`, maxRetries: 0 });

describeClient<OpenAI.ChatCompletionChunk>({
  name: 'openai chat',
  adapter: openaiChat,
  open:
    (url) =>
    ({ signal }) =>
      client(url).chat.completions.create(
        { model: 'gpt-test', stream: true, messages: [{ role: 'user', content: 'Say hello' }] },
        { signal },
      ),
  textOf: (chunk) => chunk.choices[0]?.delta.content ?? '',
  isPreamble: (chunk) => chunk.choices[0]?.delta.role !== undefined,
  wire: {
    preamble: [chat.role(), chat.ping(), chat.empty()],
    text: chat.text,
    overload: chat.error({ code: 'server_is_overloaded', type: 'server_error', message: 'Overloaded' }),
    answer: chatAnswer,
    overloaded: openaiOverloaded,
  },
});

describeClient<OpenAI.Responses.ResponseStreamEvent>({
  name: 'openai responses',
  adapter: openaiResponses,
  open:
    (url) =>
    ({ signal }) =>
      client(url).responses.create({ model: 'gpt-test', stream: true, input: 'Say hello' }, { signal }),
  textOf: (event) => (event.type === 'response.output_text.delta' ? event.delta : ''),
  isPreamble: (event) => event.type === 'response.created',
  wire: {
    preamble: [responses.created(), responses.inProgress(), responses.itemAdded()],
    text: responses.text,
    overload: responses.error('server_is_overloaded', 'Overloaded'),
    answer: responsesAnswer,
    overloaded: openaiOverloaded,
  },
});

test('openai responses: a failed response before content is retried, after it surfaces as its event [S2.3] [F.23]', async () => {
  const before = reply.stream([responses.created(), responses.failed('server_error', 'try again')]);
  const after = reply.stream([responses.created(), responses.text('Hel'), responses.failed('server_error', 'broken')]);
  await using server = await startScriptedServer([before, after]);
  const types: string[] = [];
  const stream = retryStream({
    open: ({ signal }) => client(server.url).responses.create({ model: 'm', stream: true, input: 'x' }, { signal }),
    adapter: openaiResponses,
    conversationId: 'c',
    turnId: 't',
    retry: { delayFor: () => 5, sleep: () => Promise.resolve() },
  });
  for await (const item of stream) types.push(item.type);
  expect(types).toEqual([
    'provider-retry',
    'provider-retry-end',
    'response.created',
    'response.output_text.delta',
    'response.failed',
  ]);
  expect(server.requests).toHaveLength(2);
});

test('openai chat: a spent quota is a 429 that is not retried [S2.3]', async () => {
  const spent = reply.status(429, {
    error: { code: 'insufficient_quota', type: 'insufficient_quota', message: 'pay' },
  });
  await using server = await startScriptedServer([spent]);
  const stream = retryStream({
    open: ({ signal }) =>
      client(server.url).chat.completions.create({ model: 'm', stream: true, messages: [] }, { signal }),
    adapter: openaiChat,
    conversationId: 'c',
    turnId: 't',
    retry: { delayFor: () => 5, sleep: () => Promise.resolve() },
  });
  await expect(stream.next()).rejects.toMatchObject({ status: 429, code: 'insufficient_quota' });
  expect(server.requests).toHaveLength(1);
});

test('openai chat: a tool call is content: what fails after it is not retried [S2.3]', async () => {
  await using server = await startScriptedServer([reply.stream([chat.role(), chat.tool('pay')])]);
  const stream = retryStream({
    open: ({ signal }) =>
      client(server.url).chat.completions.create({ model: 'm', stream: true, messages: [] }, { signal }),
    adapter: openaiChat,
    conversationId: 'c',
    turnId: 't',
    retry: { delayFor: () => 5, sleep: () => Promise.resolve() },
  });
  await stream.next();
  await stream.next();
  await expect(stream.next()).rejects.toMatchObject({ code: 'STREAM_TRUNCATED' });
  expect(server.requests).toHaveLength(1);
});

test('openai chat: the idempotency key is the same on all attempts [F.25]', async () => {
  await using server = await startScriptedServer([openaiOverloaded(), openaiOverloaded(503), chatAnswer('Hello')]);
  const stream = retryStream({
    open: ({ signal, idempotencyKey }) =>
      client(server.url).chat.completions.create(
        { model: 'm', stream: true, messages: [] },
        { signal, headers: { 'idempotency-key': idempotencyKey } },
      ),
    adapter: openaiChat,
    conversationId: 'c',
    turnId: 't',
    idempotencyKey: 'chat:u1:t1:answer:1',
    retry: { delayFor: () => 5, sleep: () => Promise.resolve() },
  });
  for await (const _ of stream);
  expect(server.requests.map(({ headers }) => headers['idempotency-key'])).toEqual(
    Array<string>(3).fill('chat:u1:t1:answer:1'),
  );
  // The client counts its own retries in this header: it made none.
  expect(server.requests.map(({ headers }) => headers['x-stainless-retry-count'])).toEqual(['0', '0', '0']);
});

test("openai chat: a policy waits as long as the provider's Retry-After asks for [S2.4]", async () => {
  await using server = await startScriptedServer([openaiOverloaded(429, { 'retry-after': '40' }), chatAnswer('Hello')]);
  const time = virtualTime();
  const stream = retryStream({
    open: ({ signal }) =>
      client(server.url).chat.completions.create({ model: 'm', stream: true, messages: [] }, { signal }),
    adapter: openaiChat,
    conversationId: 'c',
    turnId: 't',
    retry: llmProvider,
    effects: time,
  });
  for await (const item of stream) {
    if (!isProviderRetryEvent(item)) continue;
    expect(item).toMatchObject({ delayMs: 40_000, kind: 'rate-limit', nextAtMs: time.now().wallMs + 40_000 });
    void time.advance(40_000);
  }
  expect(server.requests).toHaveLength(2);
  expect(time.now().monoMs).toBe(40_000);
});
