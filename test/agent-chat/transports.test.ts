import { describe, expect, test } from 'vitest';
import { readHistory, startChat } from './chat.ts';
import { connect } from './raw-client.ts';

const LONG_MS = 60_000;

describe.each(['ws', 'lines'] as const)('a turn over %s', (transport) => {
  test('tells each retry before its wait, with the words and the code of the provider, then the answer [S2.2]', async () => {
    const chat = await startChat([20, 40]);
    const client = await connect(transport, chat);
    client.ask('hello');
    await client.next('turn-end');

    const types = client.events.slice(1).map((event) => event.type);
    expect([...new Set(types)]).toEqual(['turn-start', 'provider-retry', 'provider-retry-end', 'text', 'turn-end']);
    expect(client.events.filter((event) => event.type === 'provider-retry')).toEqual([
      expect.objectContaining({
        conversationId: chat.conversationId,
        turnId: expect.any(String),
        attempt: 0,
        delayMs: 20,
        message: '429 The service is temporarily overloaded. Please retry.',
        code: '429',
      }),
      expect.objectContaining({ attempt: 1, delayMs: 40 }),
    ]);
    expect(client.events.at(-1)).toMatchObject({ type: 'turn-end', outcome: 'completed' });
    expect(chat.provider.requests.map((request) => request.answer)).toEqual(['429', '429', 'streamed']);
  });

  test('leaves nothing of its retries in the kept history nor in the next provider request [S2.2]', async () => {
    const chat = await startChat([5, 5]);
    const client = await connect(transport, chat);
    client.ask('first');
    await client.next('turn-end');
    const seen = client.events.length;
    client.ask('second');
    await client.next('turn-end', seen);

    const history = await readHistory(chat);
    expect(history.map((entry) => entry.role)).toEqual(['user', 'assistant', 'user', 'assistant']);
    const last = chat.provider.requests.at(-1)?.body;
    expect(last?.messages).toEqual([
      { role: 'user', content: 'first' },
      { role: 'assistant', content: history[1]?.text },
      { role: 'user', content: 'second' },
    ]);
    for (const kept of [history, chat.provider.requests.map((request) => request.body)]) {
      expect(JSON.stringify(kept)).not.toMatch(/provider-retry|overloaded|429|delayMs/);
    }
  });

  test('is sealed as aborted when it is cancelled while waiting, and the provider is not asked again [S2.4]', async () => {
    const chat = await startChat([LONG_MS]);
    const client = await connect(transport, chat);
    client.ask('hello');
    const retry = await client.next('provider-retry');
    client.cancel(String(retry['turnId']));
    expect(await client.next('turn-end')).toMatchObject({ outcome: 'aborted', turnId: retry['turnId'] });
    expect(chat.provider.requests).toHaveLength(1);
    expect((await readHistory(chat)).map((entry) => entry.role)).toEqual(['user', 'aborted']);

    chat.provider.plan = { ...chat.provider.plan, failures: 0 };
    const seen = client.events.length;
    client.ask('and now?');
    expect(await client.next('turn-end', seen)).toMatchObject({ outcome: 'completed' });
    expect(chat.provider.requests.map((request) => request.answer)).toEqual(['429', 'streamed']);
    expect(chat.provider.requests[1]?.body.messages.map((message) => message.content)).toEqual(['hello', 'and now?']);
  });

  test('ends with the held-back error, keeps it and is sealed when the budget is spent [S2.3]', async () => {
    const chat = await startChat([5, 5], { failures: 99 });
    const client = await connect(transport, chat);
    client.ask('hello');
    expect(await client.next('turn-end')).toMatchObject({ outcome: 'failed' });
    expect(chat.provider.requests).toHaveLength(3);
    const error = { code: '429', message: expect.stringContaining('temporarily overloaded') };
    expect(client.events.at(-2)).toMatchObject({ type: 'error', ...error });
    expect(await readHistory(chat)).toEqual([
      expect.objectContaining({ role: 'user' }),
      expect.objectContaining({ role: 'error', ...error }),
    ]);
  });

  test.each(['cut', 'error-event'] as const)(
    'is asked again after a failure of the kind "%s" [S2.3]',
    async (fault) => {
      const chat = await startChat([5], { fault });
      const client = await connect(transport, chat);
      client.ask('hello');
      expect(await client.next('turn-end')).toMatchObject({ outcome: 'completed' });
      expect(client.events.filter((event) => event.type === 'provider-retry')).toHaveLength(1);
      expect(chat.provider.requests).toHaveLength(2);
    },
  );

  test.each([
    { fault: 'cut-mid-reply', because: 'the answer had begun' },
    { fault: 'unauthorized', because: 'the key was refused' },
  ] as const)('is not asked again after "$fault": $because [S2.3]', async ({ fault }) => {
    const chat = await startChat([5], { fault });
    const client = await connect(transport, chat);
    client.ask('hello');
    expect(await client.next('turn-end')).toMatchObject({ outcome: 'failed' });
    expect(client.events.some((event) => event.type === 'provider-retry')).toBe(false);
    expect(chat.provider.requests).toHaveLength(1);
  });

  test('says of a failure how often and how long it was tried, and whether a part of the answer had come [S2.3]', async () => {
    const chat = await startChat([20, 40], { failures: 9 });
    const client = await connect(transport, chat);
    client.ask('hello');
    const spent = { type: 'error', retries: 2, waitedMs: 60, cutOff: false };
    expect(await client.next('error')).toMatchObject(spent);
    await client.next('turn-end');
    chat.provider.plan = { failures: 1, fault: 'cut-mid-reply', message: '' };
    const seen = client.events.length;
    client.ask('hello again');
    expect(await client.next('error', seen)).toMatchObject({ retries: 0, waitedMs: 0, cutOff: true });
  });

  test.each([
    ['overloaded', 'temporarily overloaded'],
    ['error-event', 'stopped before its answer began'],
    ['unauthorized', 'API key is not valid'],
  ] as const)('has words of its own for the fault "%s" unless it is given some', async (fault, words) => {
    const chat = await startChat([5], { failures: 9, fault, message: '' });
    const client = await connect(transport, chat);
    client.ask('hello');
    expect((await client.next('error'))['message']).toContain(words);
  });

  test('goes on when its client hangs up, and tells one who comes back what is left of the wait [S2.2]', async () => {
    const chat = await startChat([LONG_MS]);
    const first = await connect(transport, chat);
    first.ask('hello');
    await first.next('provider-retry');
    first.hangUp();

    const second = await connect(transport, chat);
    const retry = await second.next('provider-retry');
    expect(retry['delayMs']).toBeLessThanOrEqual(LONG_MS);
    expect(retry['delayMs']).toBeGreaterThan(0);
    expect(second.events.map((event) => event.type)).toEqual(['conversation', 'turn-start', 'provider-retry']);
    second.cancel(String(retry['turnId']));
    expect(await second.next('turn-end')).toMatchObject({ outcome: 'aborted' });
  });

  test('is refused while another is under way in the same conversation', async () => {
    const chat = await startChat([LONG_MS]);
    const client = await connect(transport, chat);
    client.ask('one');
    await client.next('provider-retry');
    client.ask('two');
    expect(JSON.stringify(await client.next('refused'))).toContain('is under way');
    expect(chat.provider.requests).toHaveLength(1);
  });
});

test('both transports follow the same turn, and either can cancel it [S2.2] [S2.4]', async () => {
  const chat = await startChat([LONG_MS]);
  const socket = await connect('ws', chat);
  const other = await connect('ws', chat);
  socket.ask('hello');
  const retry = await socket.next('provider-retry');
  expect(await other.next('provider-retry')).toEqual(retry);
  const lines = await connect('lines', chat);
  await lines.next('provider-retry');
  lines.cancel(String(retry['turnId']));
  for (const client of [socket, other, lines]) {
    expect(await client.next('turn-end')).toMatchObject({ outcome: 'aborted' });
  }
});

test('closing the server seals the turns under way as aborted and ends every connection [S2.4]', async () => {
  const chat = await startChat([LONG_MS]);
  const client = await connect('lines', chat);
  client.ask('hello');
  await client.next('provider-retry');
  await chat.close();
  expect(await client.next('turn-end')).toMatchObject({ outcome: 'aborted' });
  await chat.close();
});
