import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import {
  isProviderRetryEvent,
  isRetryStreamEvent,
  openaiChat,
  parseEventLines,
  retryStream,
  type RetryStreamEvent,
  serializeEventLine,
  withoutRetryEvents,
} from '../../src/stream/index.ts';
import { chatAnswer, openaiOverloaded } from '../support/providers/openai.ts';
import { type Reply, type ScriptedServer, startScriptedServer } from '../support/providers/scripted-server.ts';

type Item = OpenAI.ChatCompletionChunk | RetryStreamEvent;
type Message = OpenAI.ChatCompletionMessageParam;

const HELLO: readonly Message[] = [{ role: 'user', content: 'Hi' }];

/** A wait that lasts until the client has seen the event that announces it. */
function seenByClient(): { sleep: () => Promise<void>; seen: () => void } {
  let seen = (): void => undefined;
  const event = new Promise<void>((resolve) => (seen = resolve));
  return { sleep: () => event, seen: () => seen() };
}

function answer(
  provider: ScriptedServer,
  messages: readonly Message[],
  sleep: () => Promise<void>,
): AsyncGenerator<Item> {
  const client = new OpenAI({ apiKey: 'test', baseURL: `${provider.url}/v1`, maxRetries: 0 });
  return retryStream({
    open: ({ signal }) =>
      client.chat.completions.create({ model: 'gpt-test', stream: true, messages: [...messages] }, { signal }),
    adapter: openaiChat,
    conversationId: 'c1',
    turnId: 't1',
    retry: { delayFor: () => 5_000, sleep },
  });
}

const textOf = (items: readonly unknown[]): string =>
  (withoutRetryEvents(items) as OpenAI.ChatCompletionChunk[])
    .map((chunk) => chunk.choices[0]?.delta.content ?? '')
    .join('');

test('over HTTP lines the client sees the event while the wait lasts, then the answer [S2.2]', async () => {
  await using provider = await startScriptedServer([openaiOverloaded(), chatAnswer('Grüße', ' 🙂')]);
  const { sleep, seen } = seenByClient();
  const respond = async (response: ServerResponse): Promise<void> => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' });
    for await (const item of answer(provider, HELLO, sleep)) response.write(serializeEventLine(item));
    response.end();
  };
  const server = createServer((_, response) => void respond(response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const items: unknown[] = [];
  for await (const item of parseEventLines(response.body as ReadableStream<Uint8Array>)) {
    items.push(item);
    if (!isProviderRetryEvent(item)) continue;
    expect(item).toMatchObject({ conversationId: 'c1', turnId: 't1', attempt: 0, delayMs: 5_000, code: '429' });
    expect(provider.requests).toHaveLength(1);
    seen();
  }
  expect(items.filter(isRetryStreamEvent)).toHaveLength(2);
  expect(textOf(items)).toBe('Grüße 🙂');
  server.close();
});

test('over a WebSocket the client sees the event while the wait lasts, then the answer [S2.2]', async () => {
  await using provider = await startScriptedServer([openaiOverloaded(), chatAnswer('Hel', 'lo')]);
  const { sleep, seen } = seenByClient();
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  const respond = async (peer: WebSocket): Promise<void> => {
    for await (const item of answer(provider, HELLO, sleep)) peer.send(JSON.stringify(item));
    peer.close();
  };
  server.on('connection', (peer) => void respond(peer));
  const socket = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const items: unknown[] = [];
  socket.on('message', (data: Buffer) => {
    const item: unknown = JSON.parse(data.toString('utf8'));
    items.push(item);
    if (!isProviderRetryEvent(item)) return;
    expect(provider.requests).toHaveLength(1);
    seen();
  });
  await once(socket, 'close');
  expect(items.filter(isRetryStreamEvent)).toHaveLength(2);
  expect(textOf(items)).toBe('Hello');
  server.close();
});

test('neither the kept history nor the next request holds anything of a retry [S2.2]', async () => {
  /** Two turns of one conversation; the provider's answers to the first may include overloads. */
  async function requestOfSecondTurn(firstTurn: readonly Reply[]): Promise<string> {
    await using provider = await startScriptedServer([...firstTurn, chatAnswer('Fine')]);
    const history: Message[] = [{ role: 'user', content: 'Hi' }];
    for (const question of ['How are you?', undefined]) {
      const items: Item[] = [];
      for await (const item of answer(provider, history, () => Promise.resolve())) items.push(item);
      history.push({ role: 'assistant', content: textOf(withoutRetryEvents(items)) });
      if (question) history.push({ role: 'user', content: question });
    }
    expect(JSON.stringify(history)).not.toContain('retry');
    return provider.requests.at(-1)?.body ?? '';
  }
  const untroubled = await requestOfSecondTurn([chatAnswer('Hello')]);
  const overloaded = await requestOfSecondTurn([openaiOverloaded(), openaiOverloaded(503), chatAnswer('Hello')]);
  expect(overloaded).toBe(untroubled);
  expect(overloaded).toContain('How are you?');
});
