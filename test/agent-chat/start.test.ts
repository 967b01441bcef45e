import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connect } from './raw-client.ts';
import { type Program, run } from './process.ts';

const URL_LINE = /Open\s+(http:\/\/localhost:\d+)/;

async function started(
  env: NodeJS.ProcessEnv = { PORT: '0' },
): Promise<{ program: Program; output: string; url: string }> {
  const program = run('main.ts', [], env);
  const output = await program.until(URL_LINE);
  return { program, output, url: URL_LINE.exec(output)?.[1] ?? '' };
}

describe('what npm start runs', () => {
  test.each(['SIGINT', 'SIGTERM'] as const)(
    'prints its address, answers there and ends cleanly on %s',
    async (signal) => {
      const { program, url } = await started();
      const response = await fetch(url);
      expect(response.status).toBe(200);
      expect(await response.text()).toContain('<title>Agent chat</title>');
      program.child.kill(signal);
      expect(await program.ended).toBe(0);
    },
  );

  test('ends at once in the middle of a wait with clients connected, also when told twice', async () => {
    const { program, url } = await started();
    const chat = { url, conversationId: 'c' };
    const socket = await connect('ws', chat);
    const lines = await connect('lines', chat);
    socket.ask('hello');
    expect(await socket.next('provider-retry')).toMatchObject({ attempt: 0, delayMs: 5_000 });
    lines.hangUp();
    program.child.kill('SIGINT');
    program.child.kill('SIGINT');
    expect(await program.ended).toBe(0);
  });

  test('waits 5 s and 10 s first as the policy says, or the given number of times shorter [S2.1]', async () => {
    const { program, output, url } = await started({ PORT: '0', HOLDFAST_CHAT_SCALE: '1000' });
    expect(output).toContain('Waits are 1000 times shorter than real.');
    const client = await connect('ws', { url, conversationId: 'c' });
    client.ask('hello');
    await client.next('turn-end');
    const waits = client.events.filter((event) => event.type === 'provider-retry');
    expect(waits.map((event) => event['delayMs'])).toEqual([5, 10]);
    program.child.kill('SIGINT');
    expect(await program.ended).toBe(0);
  });

  test('takes the next free port when the wanted one is taken, and says so', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void other.close());
    const { port } = other.address() as AddressInfo;
    const { output, url } = await started({ PORT: String(port) });
    expect(output).toContain(`Port ${port} is taken; using`);
    expect((await fetch(url)).status).toBe(200);
  });

  test.each([
    [{ PORT: 'web' }, /PORT is "web"; write a number from 0 to 65535/],
    [{ HOLDFAST_CHAT_SCALE: '0' }, /HOLDFAST_CHAT_SCALE is "0"/],
  ])('refuses %j with what to write instead', async (env, text) => {
    const program = run('main.ts', [], env);
    expect(await program.ended).toBe(1);
    expect(program.output()).toMatch(text);
  });
});
