import { describe, expect, test } from 'vitest';
import { virtualTime } from '../testing/virtual-time.ts';
import { COMMANDS } from './all-commands.ts';
import type { Io } from './io.ts';
import { parseLine } from './parse-line.ts';
import { runCli } from './run-cli.ts';

interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function run(argv: readonly string[], changes: Partial<Io> = {}): Promise<Said> {
  let [out, err] = ['', ''];
  const io: Io = {
    out: (text) => (out += text),
    err: (text) => (err += text),
    isTty: false,
    canAsk: false,
    width: 100,
    env: {},
    cwd: '/nowhere',
    user: 'ann@desk',
    processName: 'desk:1',
    effects: virtualTime(),
    ask: async () => '',
    inputEnd: async () => undefined,
    onSignal: () => () => undefined,
    exit: () => {
      throw new Error('exit');
    },
    ...changes,
  };
  return { code: await runCli(argv, io, '1.2.3'), out, err };
}

describe('the program', () => {
  test('tells its version and every command', async () => {
    expect(await run(['--version'])).toEqual({ code: 0, out: '1.2.3\n', err: '' });
    const { code, out } = await run(['--help']);
    expect(code).toBe(0);
    for (const { name, summary } of COMMANDS) {
      expect(out).toContain(`  ${name}`);
      expect(out.replaceAll(/\s+/g, ' ')).toContain(summary);
    }
  });

  test('called with nothing shows the help as an error', async () => {
    const { code, out, err } = await run([]);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain('Usage');
  });

  test.each(COMMANDS.map((command) => [command.name, command] as const))(
    '%s has a help page with all its options and an example that it would take',
    async (name, { options, examples }) => {
      const { code, out } = await run([name, '--help']);
      expect(code).toBe(0);
      for (const option of Object.keys(options)) expect(out).toContain(`--${option}`);
      expect(examples.length).toBeGreaterThan(0);
      for (const example of examples) {
        const [set = '', variable = '', value = ''] = /^([A-Z_]+)='([^']*)' /.exec(example) ?? [];
        const line = example.slice(set.length);
        expect(line.startsWith(`holdfast ${name}`)).toBe(true);
        const [, ...argv] = line.replace(/ > .*/, '').match(/'[^']*'|\S+/g) ?? [];
        // They would start a database, and a drill would break it.
        if (name === 'dev' || name === 'drill') {
          expect(parseLine(argv, COMMANDS).command?.name).toBe(name);
          continue;
        }
        // Read in full: without a database it gets as far as asking for one, or prints what needs none.
        const said = await run(
          argv.map((word) => word.replaceAll("'", '')),
          { env: { [variable]: value.replaceAll('<secret>', 's'.repeat(32)) } },
        );
        expect(said.code, said.err).not.toBe(2);
      }
    },
  );

  test('called wrongly says so in one line on standard error, with exit code 2', async () => {
    expect(await run(['docter'])).toEqual({
      code: 2,
      out: '',
      err: 'error: there is no command "docter"; did you mean doctor?\n',
    });
  });

  test('an empty id to trace is a usage error', async () => {
    expect(await run(['trace', ''])).toMatchObject({ code: 2, err: 'error: trace needs an id: holdfast trace <id>\n' });
  });

  test('answers a program in JSON, problems too', async () => {
    const { code, out, err } = await run(['dlq:list', '--json']);
    expect([code, out]).toEqual([1, '']);
    expect(JSON.parse(err)).toEqual({ error: { message: expect.stringContaining('no database was given') } });
  });

  test('colours only for a person who wants it', async () => {
    const red = '\u001B[31m';
    expect((await run(['docter'], { isTty: true })).err).toContain(red);
    expect((await run(['docter'], { isTty: true, env: { NO_COLOR: '1' } })).err).not.toContain(red);
    expect((await run(['docter'], { isTty: true, env: { TERM: 'dumb' } })).err).not.toContain(red);
  });

  test('shows a stack trace only when asked to', async () => {
    const stack = /\n\s+at /;
    expect((await run(['dlq:list'])).err).not.toMatch(stack);
    expect((await run(['dlq:list'], { env: { HOLDFAST_DEBUG: '1' } })).err).toMatch(stack);
  });

  test('has no command and no option twice, and none that hides an option of every command', () => {
    const names = COMMANDS.map((command) => command.name);
    expect(new Set(names).size).toBe(names.length);
    const global = ['url', 'schema', 'json', 'actor', 'yes', 'help', 'version'];
    for (const { options } of COMMANDS)
      expect(Object.keys(options).filter((name) => global.includes(name))).toEqual([]);
  });
});
