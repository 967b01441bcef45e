import { Pool } from 'pg';
import { expect, onTestFinished } from 'vitest';
import { type ChatStore, postgresChats } from '../../examples/agent-chat/chat-store.ts';
import { startProvider } from '../../examples/agent-chat/provider.ts';
import { startChatServer } from '../../examples/agent-chat/server.ts';
import { freshDatabase } from '../order-service/fresh-database.ts';
import { needs } from '../support/needs.ts';
import { run } from './process.ts';
import { connect } from './raw-client.ts';

const test = needs('postgres');

/** Starts the program, has one turn answered, and kills it in the first wait of the next. Says until when that wait was to last. */
async function killedInWait(databaseUrl: string): Promise<{ readonly turnId: unknown; readonly latestMs: number }> {
  const program = run('main.ts', [], { PORT: '0', DATABASE_URL: databaseUrl });
  const url = /Open\s+(http:\S+)/.exec(await program.until(/Ctrl-C/))?.[1] ?? '';
  const setFailures = (failures: number): Promise<Response> =>
    fetch(`${url}/provider`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ failures }),
    });
  await setFailures(0);
  const client = await connect('ws', { url, conversationId: 'c' });
  client.ask('one');
  await client.next('turn-end');
  await setFailures(99);
  client.ask('two');
  const { turnId } = await client.next('provider-retry');
  const latestMs = Date.now() + 5_000;
  program.child.kill('SIGKILL');
  await program.ended;
  return { turnId, latestMs };
}

async function openStore(databaseUrl: string): Promise<ChatStore> {
  const pool = new Pool({ connectionString: databaseUrl });
  // The database is dropped while connections still close.
  pool.on('error', () => {});
  onTestFinished(() => pool.end());
  return postgresChats(pool);
}

test('a chat killed in a wait comes back with the question, the earlier turns and the rest of the wait, and keeps its final error [S2.2] [S2.3]', async ({
  postgres,
}) => {
  const databaseUrl = await freshDatabase(postgres);
  const { turnId, latestMs } = await killedInWait(databaseUrl);

  const store = await openStore(databaseUrl);
  const provider = await startProvider({ plan: { failures: 1, fault: 'overloaded', message: 'still busy' } });
  onTestFinished(() => provider.close());
  const asked: number[] = [];
  const slept: number[] = [];
  let wake = (): void => undefined;
  const awake = new Promise<void>((resolve) => (wake = resolve));
  const retry = {
    delayFor: (attempt: number): undefined => void asked.push(attempt),
    sleep: (ms: number): Promise<void> => (slept.push(ms), awake),
  };
  const startedMs = Date.now();
  const server = await startChatServer({ provider, store, retry: () => retry });
  onTestFinished(() => server.close());
  const client = await connect('ws', { url: server.url, conversationId: 'c' });
  expect(client.events[0]).toMatchObject({
    messages: [{ text: 'one' }, { role: 'assistant' }, { role: 'user', text: 'two' }],
  });
  expect(await client.next('provider-retry')).toMatchObject({ turnId, attempt: 0, code: '429' });
  // The wait went on while the program was gone.
  expect(slept).toHaveLength(1);
  expect(slept[0]).toBeLessThanOrEqual(Math.max(0, latestMs - startedMs));
  expect(provider.requests).toEqual([]);

  wake();
  expect(await client.next('provider-retry-end')).toMatchObject({ attempt: 0, outcome: 'retrying' });
  await client.next('turn-end');
  // The retry before counts: the next one would have been the second.
  expect(asked).toEqual([1]);
  expect(provider.requests.map(({ body }) => body.messages.map(({ role }) => role))).toEqual([
    ['user', 'assistant', 'user'],
  ]);
  const [kept] = await store.load(1);
  expect(kept?.open).toBeNull();
  expect(kept?.history.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'error']);
  expect(kept?.history.at(-1)).toMatchObject({ turnId, code: '429', retries: 1, waitedMs: 5_000, cutOff: false });
});

test('an answer that was cut off by the end of the program is kept as far as it was shown, and not asked for again [S2.3]', async ({
  postgres,
}) => {
  const store = await openStore(await freshDatabase(postgres));
  await store.begin('c', { turnId: 't', role: 'user', text: 'one' });
  await store.progress('t', { retries: 0, waitedMs: 0, text: 'You said' });
  const provider = await startProvider();
  onTestFinished(() => provider.close());
  const server = await startChatServer({ provider, store });
  onTestFinished(() => server.close());
  const historyOf = async (): Promise<unknown> => (await store.load(1))[0]?.history;
  await expect.poll(historyOf).toMatchObject([
    { role: 'user', text: 'one' },
    { role: 'assistant', text: 'You said' },
    { role: 'error', cutOff: true },
  ]);
  expect(provider.requests).toEqual([]);
});
