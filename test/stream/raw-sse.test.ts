import { expect, test } from 'vitest';
import { llmProvider } from '../../src/retry/policies.ts';
import {
  isProviderRetryEvent,
  isRetryStreamEvent,
  openaiChat,
  type OpenStream,
  retryStream,
  sse,
  type SseEvent,
  sseEvents,
} from '../../src/stream/index.ts';
import { virtualTime } from '../../src/testing/virtual-time.ts';
import { chat, chatAnswer, openaiOverloaded } from '../support/providers/openai.ts';
import { reply, startScriptedServer } from '../support/providers/scripted-server.ts';
import { describeClient } from './client-cases.ts';

/** Chat completions without any client library. */
const openChat =
  (url: string): OpenStream<SseEvent> =>
  async ({ signal }) => {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-test', stream: true, messages: [{ role: 'user', content: 'Say hello' }] }),
      signal,
    });
    if (!response.ok || !response.body) {
      const { status, headers } = response;
      throw Object.assign(new Error(`HTTP ${status}: ${(await response.text()).slice(0, 500)}`), { status, headers });
    }
    return sseEvents(response.body);
  };

interface Chunk {
  readonly choices?: readonly { readonly delta: { readonly content?: string; readonly role?: string } }[];
}

const deltaOf = (event: SseEvent): { content?: string; role?: string } => {
  if (event.kind !== 'event' || event.data === '[DONE]') return {};
  return (JSON.parse(event.data) as Chunk).choices?.[0]?.delta ?? {};
};

describeClient<SseEvent>({
  name: 'raw sse',
  adapter: sse({ payload: openaiChat }),
  open: openChat,
  textOf: (event) => deltaOf(event).content ?? '',
  isPreamble: (event) => deltaOf(event).role !== undefined,
  wire: {
    preamble: [chat.role(), chat.ping(), chat.empty()],
    text: chat.text,
    overload: chat.error({ code: 'server_is_overloaded', type: 'server_error', message: 'Overloaded' }),
    answer: chatAnswer,
    overloaded: openaiOverloaded,
  },
});

test("raw sse: a policy waits as long as the server's Retry-After asks for [S2.4]", async () => {
  await using server = await startScriptedServer([openaiOverloaded(429, { 'retry-after': '40' }), chatAnswer('Hello')]);
  const time = virtualTime();
  const turn = { conversationId: 'c', turnId: 't', retry: llmProvider, effects: time };
  const stream = retryStream({ ...turn, open: openChat(server.url), adapter: sse({ payload: openaiChat }) });
  for await (const item of stream) {
    if (!isProviderRetryEvent(item)) continue;
    expect(item).toMatchObject({ delayMs: 40_000, code: '429' });
    void time.advance(item.delayMs);
  }
  expect(server.requests).toHaveLength(2);
});

test('raw sse: a connection that is cut before or inside the first word is retried, by what fetch throws [S2.3]', async () => {
  const broken = [reply.cut(), reply.stream([], 'cut'), reply.stream(['da'], 'cut'), reply.stream(['da'])];
  await using server = await startScriptedServer([...broken, chatAnswer('Hello')]);
  const retry = { delayFor: () => 0, sleep: () => Promise.resolve() };
  const turn = { conversationId: 'c', turnId: 't', retry };
  const stream = retryStream({ ...turn, open: openChat(server.url), adapter: sse({ payload: openaiChat }) });
  let text = '';
  for await (const item of stream) if (!isRetryStreamEvent(item)) text += deltaOf(item).content ?? '';
  expect({ text, requests: server.requests.length }).toEqual({ text: 'Hello', requests: 5 });
});
