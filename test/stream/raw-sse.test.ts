import { openaiChat, type OpenStream, sse, type SseEvent, sseEvents } from '../../src/stream/index.ts';
import { chat, chatAnswer, openaiOverloaded } from '../support/providers/openai.ts';
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
      throw Object.assign(new Error(`HTTP ${response.status}: ${await response.text()}`), { status: response.status });
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
