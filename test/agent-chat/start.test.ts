import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { freshDatabase } from '../order-service/fresh-database.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { startOnPort } from '../../examples/local-page/free-port.ts';
import { connect } from './raw-client.ts';
import { type Program, run } from './process.ts';

const URL_LINE = /Open\s+(http:\/\/localhost:\d+)/;

async function started(
  postgres: TestServer,
  env: NodeJS.ProcessEnv = {},
): Promise<{ program: Program; output: string; url: string }> {
  const program = run('main.ts', [], { PORT: '0', DATABASE_URL: await freshDatabase(postgres), ...env });
  const output = await program.until(URL_LINE);
  return { program, output, url: URL_LINE.exec(output)?.[1] ?? '' };
}

/** A port that somebody else has. */
async function takenPort(): Promise<number> {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void other.close());
  return (other.address() as AddressInfo).port;
}

test('without PORT the next free one is searched for', async () => {
  const first = await takenPort();
  const tried: number[] = [];
  const { port, value } = await startOnPort({ first, tries: 20 }, async (candidate) => {
    tried.push(candidate);
    const server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(candidate, '127.0.0.1', resolve);
    });
    return server;
  });
  onTestFinished(() => void value.close());
  expect(tried[0]).toBe(first);
  expect(port).toBe(tried.at(-1));
  expect(port).toBeGreaterThan(first);
});

describe('what npm start runs', () => {
  const onServer = needs('postgres');

  onServer.for(['SIGINT', 'SIGTERM'] as const)(
    'prints its address, answers there and ends cleanly on %s',
    async (signal, { postgres }) => {
      const { program, url } = await started(postgres);
      const response = await fetch(url);
      expect(response.status).toBe(200);
      expect(await response.text()).toContain('<title>Agent chat</title>');
      program.child.kill(signal);
      expect(await program.ended).toBe(0);
    },
  );

  onServer(
    'ends at once in the middle of a wait with clients connected, also when told twice',
    async ({ postgres }) => {
      const { program, url } = await started(postgres);
      const chat = { url, conversationId: 'c' };
      const socket = await connect('ws', chat);
      const lines = await connect('lines', chat);
      socket.ask('hello');
      expect(await socket.next('provider-retry')).toMatchObject({ attempt: 0, delayMs: 5_000 });
      lines.hangUp();
      program.child.kill('SIGINT');
      program.child.kill('SIGINT');
      expect(await program.ended).toBe(0);
    },
  );

  onServer(
    'waits 5 s and 10 s first as the policy says, or the given number of times shorter [S2.1]',
    async ({ postgres }) => {
      const { program, output, url } = await started(postgres, { HOLDFAST_CHAT_SCALE: '1000' });
      expect(output).toContain('Waits are 1000 times shorter than real.');
      const client = await connect('ws', { url, conversationId: 'c' });
      client.ask('hello');
      await client.next('turn-end');
      const waits = client.events.filter((event) => event.type === 'provider-retry');
      expect(waits.map((event) => event['delayMs'])).toEqual([5, 10]);
      program.child.kill('SIGINT');
      expect(await program.ended).toBe(0);
    },
  );

  onServer('takes the port that PORT names or none: when that is taken it says so and ends', async ({ postgres }) => {
    const port = await takenPort();
    const program = run('main.ts', [], { PORT: String(port), DATABASE_URL: await freshDatabase(postgres) });
    expect(await program.ended).toBe(1);
    expect(program.output()).toBe(`Port ${port} is taken; choose another with PORT=8080 npm start.\n`);
  });

  test.each([
    [{ PORT: 'web' }, /PORT is "web"; write a whole number from 0 to 65535/],
    [{ PORT: '3000.5' }, /^PORT is "3000.5"; write a whole number from 0 to 65535, or leave it out.\n$/],
    [{ PORT: '65536' }, /PORT is "65536"/],
    [{ HOLDFAST_CHAT_SCALE: '0' }, /HOLDFAST_CHAT_SCALE is "0"/],
  ])('refuses %j with what to write instead', async (env, text) => {
    const program = run('main.ts', [], env);
    expect(await program.ended).toBe(1);
    expect(program.output()).toMatch(text);
  });
});
