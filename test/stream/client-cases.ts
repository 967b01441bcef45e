import { expect, test } from 'vitest';
import {
  isProviderRetryEvent,
  isRetryStreamEvent,
  type OpenStream,
  partialOutput,
  type ProviderRetryEvent,
  retryStream,
  type RetryStreamOptions,
  type StreamAdapter,
} from '../../src/stream/index.ts';
import { virtualTime } from '../../src/testing/virtual-time.ts';
import { type Reply, reply, type ScriptedServer, startScriptedServer } from '../support/providers/scripted-server.ts';

/** A real client library, what it asks for, and how its provider speaks. */
export interface StreamClient<Chunk> {
  readonly name: string;
  readonly adapter: StreamAdapter<Chunk>;
  /** Makes one request to the provider at this address, with the library's own retries off. */
  readonly open: (url: string) => OpenStream<Chunk>;
  /** The text in a chunk; empty for all other chunks. */
  readonly textOf: (chunk: Chunk) => string;
  /** True for the chunk that only the preamble has. */
  readonly isPreamble: (chunk: Chunk) => boolean;
  readonly wire: {
    readonly preamble: readonly string[];
    readonly text: (word: string) => string;
    /** An overload reported inside the stream. */
    readonly overload: string;
    readonly answer: (...words: readonly string[]) => Reply;
    readonly overloaded: (status: number) => Reply;
  };
}

interface Outcome<Chunk> {
  readonly chunks: readonly Chunk[];
  readonly text: string;
  readonly events: readonly ProviderRetryEvent[];
  readonly thrown: unknown;
}

interface Reading<Chunk> {
  readonly delays?: readonly number[];
  readonly options?: Partial<RetryStreamOptions<Chunk>>;
  readonly onText?: () => unknown;
}

/** The same cases for every client: what the wire does, and what the consumer must then see. */
export function describeClient<Chunk>(client: StreamClient<Chunk>): void {
  failsBeforeContent(client);
  goesSilent(client);
  failsAfterContent(client);
  isEndedFromOutside(client);
}

async function read<Chunk>(
  client: StreamClient<Chunk>,
  server: ScriptedServer,
  { delays = [5, 10], options, onText }: Reading<Chunk> = {},
): Promise<Outcome<Chunk>> {
  const chunks: Chunk[] = [];
  const events: ProviderRetryEvent[] = [];
  let text = '';
  let thrown: unknown;
  const stream = retryStream({
    open: client.open(server.url),
    adapter: client.adapter,
    conversationId: 'c1',
    turnId: 't1',
    retry: { delayFor: (n) => delays[n], sleep: () => Promise.resolve() },
    ...options,
  });
  try {
    for await (const item of stream) {
      if (isProviderRetryEvent(item)) events.push(item);
      if (isRetryStreamEvent(item)) continue;
      chunks.push(item);
      const piece = client.textOf(item);
      text += piece;
      if (piece !== '' && (await onText?.()) === 'break') break;
    }
  } catch (error) {
    thrown = error;
  }
  return { chunks, text, events, thrown };
}

function failsBeforeContent<Chunk>(client: StreamClient<Chunk>): void {
  const { wire } = client;
  test.each<[string, Reply]>([
    ['429 overloaded', wire.overloaded(429)],
    ['529 overloaded', wire.overloaded(529)],
    ['502', reply.status(502, { error: { message: 'bad gateway' } })],
    ['a connection cut before its headers', reply.cut()],
    ['a connection cut after the preamble', reply.stream(wire.preamble, 'cut')],
    ['an overload event after 200', reply.stream([...wire.preamble, wire.overload])],
    ['an overload event as the first event', reply.stream([wire.overload])],
    ['an end without the closing event', reply.stream(wire.preamble)],
    ['an empty stream', reply.stream([])],
  ])(
    `${client.name}: %s is retried: two requests, one preamble, the whole answer [S2.3] [F.23] [F.25]`,
    async (_, first) => {
      await using server = await startScriptedServer([first, wire.answer('Hel', 'lo')]);
      const { text, chunks, events, thrown } = await read(client, server);
      expect(thrown).toBeUndefined();
      expect(text).toBe('Hello');
      expect(chunks.filter(client.isPreamble)).toHaveLength(1);
      expect(events).toHaveLength(1);
      expect(server.requests).toHaveLength(2);
      expect(server.requests[1]?.body).toBe(server.requests[0]?.body);
    },
  );

  test(`${client.name}: requests on the wire are decisions plus one, then the suppressed error surfaces [S2.3] [F.25]`, async () => {
    await using server = await startScriptedServer(Array<Reply>(5).fill(wire.overloaded(429)));
    const { events, chunks, thrown } = await read(client, server, { delays: [5, 10, 30] });
    expect(server.requests).toHaveLength(4);
    expect(events.map(({ attempt, delayMs }) => [attempt, delayMs])).toEqual([
      [0, 5],
      [1, 10],
      [2, 30],
    ]);
    expect(events.every(({ code }) => code === '429')).toBe(true);
    const surfaced = thrown ?? (chunks.at(-1) as { error?: unknown }).error;
    // Word for word: what people were told is what the client says of the error.
    expect((surfaced as Error).message).toBe(events[0]?.message);
    expect(events[0]?.message).toMatch(/overloaded/i);
  });

  test(`${client.name}: a refused key is not retried [S2.3]`, async () => {
    await using server = await startScriptedServer([
      reply.status(401, { error: { message: 'no', type: 'authentication_error' } }),
    ]);
    const { events, text } = await read(client, server);
    expect({ requests: server.requests.length, events, text }).toEqual({ requests: 1, events: [], text: '' });
  });
}

function goesSilent<Chunk>(client: StreamClient<Chunk>): void {
  const { wire } = client;
  test.each<[string, Reply]>([
    ['accepts and never answers', reply.silence()],
    ['goes silent after the preamble', reply.stream(wire.preamble, 'hang')],
  ])(
    `${client.name}: a provider that %s is given up, its connection closed, and asked again [S2.3] [F.23] [F.25]`,
    async (_, first) => {
      await using server = await startScriptedServer([first, wire.answer('Hello')]);
      const time = virtualTime();
      const options = { timeouts: { firstContentMs: 30_000 }, effects: time };
      const reading = read(client, server, { options });
      await server.seen(1);
      await time.advance(30_000);
      const { text, events } = await reading;
      expect({ text, code: events[0]?.code, requests: server.requests.length }).toEqual({
        text: 'Hello',
        code: 'STREAM_TIMEOUT',
        requests: 2,
      });
      expect(await server.requests[0]?.hungUp).toBe(true);
      expect(time.pendingTimers).toBe(0);
    },
  );

  test(`${client.name}: the connection of a discarded answer is closed although the provider keeps it open [F.25]`, async () => {
    const failing = reply.stream([...wire.preamble, wire.overload], 'hang');
    await using server = await startScriptedServer([failing, wire.answer('Hello')]);
    expect((await read(client, server)).text).toBe('Hello');
    expect(await server.requests[0]?.hungUp).toBe(true);
  });
}

function failsAfterContent<Chunk>(client: StreamClient<Chunk>): void {
  const { wire } = client;
  test(`${client.name}: a cut connection surfaces once, with the length so far, and is not retried [S2.3] [F.23]`, async () => {
    const started = reply.stream([...wire.preamble, wire.text('Hello')], 'hang');
    await using server = await startScriptedServer([started, wire.answer('again')]);
    const { text, thrown, chunks } = await read(client, server, { onText: () => server.cut() });
    const surfaced = thrown ?? chunks.at(-1);
    expect(text).toBe('Hello');
    expect(partialOutput(surfaced)).toEqual({ contentChunks: 1, contentLength: 5 });
    expect(server.requests).toHaveLength(1);
  });

  test(`${client.name}: an overload event surfaces and is not retried [S2.3] [F.23]`, async () => {
    const failing = reply.stream([...wire.preamble, wire.text('Hello'), wire.overload]);
    await using server = await startScriptedServer([failing, wire.answer('again')]);
    const { text, thrown, chunks } = await read(client, server);
    const surfaced = thrown ?? chunks.find((chunk) => partialOutput(chunk));
    expect(text).toBe('Hello');
    expect(partialOutput(surfaced)).toEqual({ contentChunks: 1, contentLength: 5 });
    expect(server.requests).toHaveLength(1);
  });

  test(`${client.name}: an end without the closing event is told apart from a whole answer [S2.3] [F.23]`, async () => {
    const truncated = reply.stream([...wire.preamble, wire.text('Hello')]);
    await using server = await startScriptedServer([truncated, wire.answer('again')]);
    const { text, thrown } = await read(client, server);
    expect(text).toBe('Hello');
    expect(thrown).toMatchObject({ code: 'STREAM_TRUNCATED', details: { contentChunks: 1, contentLength: 5 } });
    expect(server.requests).toHaveLength(1);
  });
}

function isEndedFromOutside<Chunk>(client: StreamClient<Chunk>): void {
  const { wire } = client;
  const open = reply.stream([...wire.preamble, wire.text('Hello')], 'hang');

  test(`${client.name}: an abort while streaming throws its reason and hangs up, although the client just ends [S2.4] [F.23]`, async () => {
    await using server = await startScriptedServer([open]);
    const caller = new AbortController();
    const reason = new Error('the user pressed stop');
    const { text, thrown } = await read(client, server, {
      options: { signal: caller.signal },
      onText: () => caller.abort(reason),
    });
    expect({ text, thrown }).toEqual({ text: 'Hello', thrown: reason });
    expect(await server.requests[0]?.hungUp).toBe(true);
    expect(server.requests).toHaveLength(1);
  });

  test(`${client.name}: a consumer that breaks off hangs up and has no failure [F.23]`, async () => {
    await using server = await startScriptedServer([open]);
    const { text, thrown } = await read(client, server, { onText: () => 'break' });
    expect({ text, thrown }).toEqual({ text: 'Hello', thrown: undefined });
    expect(await server.requests[0]?.hungUp).toBe(true);
    expect(server.requests).toHaveLength(1);
  });

  test(`${client.name}: without a strategy an overload is one request and surfaces [S2.4]`, async () => {
    await using server = await startScriptedServer([wire.overloaded(429), wire.answer('again')]);
    const chunks: unknown[] = [];
    let thrown: unknown;
    const about = { open: client.open(server.url), adapter: client.adapter, conversationId: 'c', turnId: 't' };
    try {
      for await (const item of retryStream(about)) chunks.push(item);
    } catch (error) {
      thrown = error;
    }
    const surfaced = (thrown ?? (chunks.at(-1) as { error: unknown }).error) as Error;
    expect(surfaced.message).toMatch(/overloaded/i);
    expect(server.requests).toHaveLength(1);
  });
}
