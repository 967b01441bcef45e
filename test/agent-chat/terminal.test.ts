import { describe, expect, test } from 'vitest';
import { readHistory, startChat } from './chat.ts';
import { run, runOnTerminal } from './process.ts';

const LONG_MS = 30_000;
const YELLOW = '\u001B[33m';
const CTRL_C = '\u0003';
const CTRL_D = '\u0004';

describe.each(['ws', 'lines'] as const)('the terminal client over %s', (transport) => {
  test.each([
    ['c', 'c'],
    ['Ctrl-C', CTRL_C],
  ])('shows a yellow line that counts down, and %s cancels it [S2.2] [S2.4] [S2.5]', async (_, key) => {
    const chat = await startChat([LONG_MS]);
    const args = ['--url', chat.url, '--transport', transport, '--conversation', chat.conversationId];
    const client = runOnTerminal('terminal.ts', args);
    await client.until(/you › /);
    client.child.stdin?.write('hello\r');
    const shown = await client.until(/Retrying in (\d+) s[\s\S]*Retrying in (?!\1 )\d+ s/);
    expect(shown).toContain(YELLOW);
    expect(shown).toContain('The service is temporarily overloaded. Please retry.');
    expect(shown).toContain('429');
    client.child.stdin?.write(key);
    await client.until(/Cancelled\. The provider is not asked again\.[\s\S]*you › /);
    expect((await readHistory(chat)).map((entry) => entry.role)).toEqual(['user', 'aborted']);
    expect(chat.provider.requests).toHaveLength(1);
    client.child.stdin?.write(CTRL_D);
    expect(await client.ended).toBe(0);
  });

  test('writes plain lines into a pipe, and the answer [S2.2] [S2.5]', async () => {
    const chat = await startChat([5, 5], { message: 'Down\u001B[31m\nfor a while' });
    const client = run('terminal.ts', ['--url', chat.url, '--transport', transport]);
    client.child.stdin?.end('hello\n');
    expect(await client.ended).toBe(0);
    expect(client.output()).toMatch(/^warning: .*Down for a while · retry 1 in 1 s$/m);
    expect(client.output()).toMatch(/^warning: .* retry 2 in 1 s$/m);
    expect(client.output()).toContain('You said “hello”');
    expect(client.output()).not.toContain('\u001B');
  });

  test('shows the error at the end of the budget [S2.3]', async () => {
    const chat = await startChat([5], { failures: 9 });
    const client = run('terminal.ts', ['--url', chat.url, '--transport', transport]);
    client.child.stdin?.end('hello\n');
    expect(await client.ended).toBe(0);
    expect(client.output()).toMatch(/Gave up after 1 retry and 0 s of waiting: HTTP 429: .*temporarily overloaded/);
  });
});

describe('the terminal client', () => {
  test('says what to do when there is no server', async () => {
    const client = run('terminal.ts', ['--url', 'http://127.0.0.1:1']);
    expect(await client.ended).toBe(1);
    expect(client.output()).toContain('There is no chat server at http://127.0.0.1:1. Start one with "npm start"');
  });

  test.each([
    [['--help'], 0, /--transport <ws\|lines>/],
    [['--transport', 'pigeon'], 1, /write ws or lines/],
    [['--url', 'nonsense'], 1, /write an address/],
    [['--nonsense'], 1, /--nonsense/],
  ])('answers %j', async (args, code, text) => {
    const client = run('terminal.ts', args);
    expect(await client.ended).toBe(code);
    expect(client.output()).toMatch(text);
  });
});
