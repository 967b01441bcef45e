import { describe, expect, test } from 'vitest';
import { llmProvider } from '../retry/policies.ts';
import {
  aiSdk,
  anthropicMessages,
  openaiChat,
  openaiResponses,
  type OpenStream,
  retryStream,
  sse,
  sseEvents,
  type StreamAdapter,
} from './index.ts';

const EVENTS = 'data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
const body = (text: string): ReadableStream<Uint8Array<ArrayBuffer>> => new Blob([text]).stream();

const raise = (error: Error) => (): never => {
  throw error;
};

/** Reads the stream under the policy of eight hours; a retry would hang. Gives what was thrown. */
async function failureOf(open: OpenStream<never>, adapter: StreamAdapter<never>): Promise<unknown> {
  let opens = 0;
  const counted: OpenStream<never> = (context) => {
    opens += 1;
    return open(context);
  };
  const stream = retryStream({ open: counted, adapter, conversationId: 'c', turnId: 't', retry: llmProvider });
  try {
    for await (const item of stream as AsyncIterable<{ type?: string }>) {
      if (item.type === 'provider-retry') return 'retried';
    }
    return 'ended';
  } catch (error) {
    expect(opens).toBe(1);
    return error;
  }
}

describe('a bug in open', () => {
  test.each<[string, () => unknown, string]>([
    ['a field of undefined', () => (undefined as unknown as { foo: unknown }).foo, 'TypeError'],
    ['a function that is not there', () => (globalThis as unknown as { nope: () => void }).nope(), 'TypeError'],
    ['a name that is not there', raise(new ReferenceError('nope is not defined')), 'ReferenceError'],
    ['JSON that is none', () => JSON.parse('{'), 'SyntaxError'],
  ])('such as %s surfaces at once, as it is [S2.2]', async (_, open, name) => {
    expect(await failureOf(open as OpenStream<never>, openaiChat)).toMatchObject({ name });
  });

  test('the caller’s classifier may still call it worth a retry [S2.2]', async () => {
    const open = raise(new TypeError('the polyfill could not connect'));
    const turn = { conversationId: 'c', turnId: 't', retry: llmProvider };
    const classify = (error: unknown): 'retry' | undefined => (error instanceof TypeError ? 'retry' : undefined);
    const stream = retryStream({ ...turn, open, adapter: openaiChat, classify });
    expect((await stream.next()).value).toMatchObject({ type: 'provider-retry' });
    await stream.return();
  });
});

describe('sseEvents', () => {
  test.each<[string, unknown, string]>([
    ['null', null, 'source is null'],
    ['undefined', undefined, 'source is undefined'],
    ['the text itself', EVENTS, 'source is a string'],
    ['the response instead of its body', new Response(EVENTS), 'source is a Response; pass its body'],
  ])('refuses %s with its name, before anything is read [S2.3]', async (_, source, says) => {
    const read = (): unknown => sseEvents(source as never);
    expect(read).toThrow(expect.objectContaining({ code: 'INVALID_OPTIONS', message: expect.stringContaining(says) }));
    expect(await failureOf(read as OpenStream<never>, sse())).toMatchObject({
      code: 'INVALID_OPTIONS',
    });
  });

  test('refuses a limit that is none [S2.3]', () => {
    expect(() => sseEvents(body(EVENTS), { maxEventChars: 0 })).toThrow('maxEventChars is 0');
  });

  test.each([
    ['JSON', '{"id":"x","choices":[{"message":{"content":"hi"}}]}'],
    ['JSON', '\n\n[\n  {"error": {}}\n]\n'],
    ['HTML or XML', '<!doctype html>\n<title>502: Bad gateway</title>\n'],
    ['something else', 'upstream connect error'],
  ])('says of a body of %s that it is no event stream, and it is not asked for again [S2.3]', async (found, text) => {
    const adapter = sse({ payload: openaiChat });
    const error = await failureOf((() => sseEvents(body(text))) as OpenStream<never>, adapter);
    expect(error).toMatchObject({ code: 'STREAM_NOT_SSE', details: { found } });
    expect((error as Error).message).not.toContain('upstream');
  });

  test.each(['', '\n\n', 'd', 'dat', 'event', 'retry: 5\n', ':\n', 'id: 4\nodd: field\n\n', 'data: x'])(
    'takes %j for an event stream, perhaps one that was cut [S2.3]',
    async (text) => {
      for await (const event of sseEvents(body(text))) expect(event).toMatchObject({ kind: 'comment' });
    },
  );
});

describe('an adapter that does not fit the stream', () => {
  const SSE_EVENT = { kind: 'event', event: 'message', data: '{}', id: '' };
  const ANTHROPIC = { type: 'message_start', message: {} };
  const CHAT = { choices: [] };
  const wrong = [
    ['bytes', new TextEncoder().encode(EVENTS)],
    ['text', EVENTS],
    ['a number', 5],
    ['nothing', null],
    ['nothing', undefined],
  ] as const;

  const adapters: readonly (readonly [string, StreamAdapter<never>])[] = [
    ['openaiChat', openaiChat],
    ['openaiResponses', openaiResponses],
    ['anthropicMessages', anthropicMessages],
    ['aiSdk', aiSdk],
    ['sse()', sse({ payload: openaiChat })],
  ];

  async function* once(chunk: unknown): AsyncGenerator<never> {
    yield chunk as never;
  }

  test.each(adapters)('%s refuses bytes, text, numbers and nothing, and says so once [S2.3]', async (name, adapter) => {
    for (const [found, chunk] of wrong) {
      expect(await failureOf(() => once(chunk), adapter)).toMatchObject({
        code: 'INVALID_OPTIONS',
        message: expect.stringContaining(`adapter is ${name}, which cannot read ${found}`),
      });
    }
  });

  test('a raw body given to openaiChat is answered with what to write [S2.3]', async () => {
    expect(await failureOf((() => body(EVENTS)) as unknown as OpenStream<never>, openaiChat)).toMatchObject({
      message: expect.stringContaining('give sseEvents(response.body) from open and use sse({ payload: openaiChat })'),
    });
  });

  test.each<[string, StreamAdapter<never>, unknown, string]>([
    ['openaiChat', openaiChat, ANTHROPIC, 'a "message_start" event'],
    ['openaiChat', openaiChat, SSE_EVENT, 'server-sent events'],
    ['anthropicMessages', anthropicMessages, SSE_EVENT, 'server-sent events'],
    ['anthropicMessages', anthropicMessages, CHAT, 'chunks with choices'],
    ['openaiResponses', openaiResponses, CHAT, 'chunks with choices'],
    ['aiSdk', aiSdk, CHAT, 'chunks with choices'],
    ['sse()', sse(), CHAT, 'chunks with choices'],
    ['sse()', sse(), ANTHROPIC, 'a "message_start" event'],
    ['sse()', sse(), { kind: 'event' }, 'an object it does not know'],
  ])('%s refuses the chunks of another format %# [S2.3]', async (name, adapter, chunk, found) => {
    expect(await failureOf(() => once(chunk), adapter)).toMatchObject({
      code: 'INVALID_OPTIONS',
      message: expect.stringContaining(`adapter is ${name}, which cannot read ${found}`),
    });
  });

  test('the payload of an event is refused in the same way [S2.3]', async () => {
    const open = (() => sseEvents(body('data: {"type":"message_start"}\n\n'))) as OpenStream<never>;
    const adapter = sse({ payload: openaiChat });
    expect(await failureOf(open, adapter)).toMatchObject({ code: 'INVALID_OPTIONS' });
  });
});
