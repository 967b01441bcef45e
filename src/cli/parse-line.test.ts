import { describe, expect, test } from 'vitest';
import { CliError } from './cli-error.ts';
import type { Command } from './command.ts';
import { parseLine } from './parse-line.ts';

const show: Command = {
  name: 'dlq:show',
  summary: 'Show one.',
  args: { usage: '<id>', min: 1, max: 1 },
  options: {},
  examples: [],
  run: async () => 0,
};
const replay: Command = {
  name: 'dlq:replay',
  summary: 'Replay.',
  options: {
    id: { value: '<id>', summary: 'which', multiple: true },
    limit: { value: '<n>', summary: 'how many' },
    since: { value: '<time>', summary: 'when' },
    'dry-run': { summary: 'only look' },
  },
  examples: [],
  run: async () => 0,
};

function parse(...argv: string[]): ReturnType<typeof parseLine> {
  return parseLine(argv, [show, replay]);
}

function problemOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof CliError && error.exitCode === 2) return error.message;
    throw error;
  }
  throw new Error('nothing was refused');
}

const ID = '0199f2d6-7c1e-7b33-a4a8-2f1f0c9d5b11';

describe('the command line', () => {
  test('has no options by the names that every object has', () => {
    for (const name of ['constructor', 'toString', '__proto__'])
      expect(problemOf(() => parse('dlq:replay', `--${name}`))).toContain(`dlq:replay has no option --${name}`);
  });

  test('takes options of the program before and after the command', () => {
    const { command, options, args } = parse('--json', '--schema', 'x', 'dlq:show', 'id-1', '--actor=ann');
    expect(command?.name).toBe('dlq:show');
    expect(args).toEqual(['id-1']);
    expect([options.flag('json'), options.text('schema'), options.text('actor')]).toEqual([true, 'x', 'ann']);
  });

  test('takes an option several times where that means something, and lists with commas', () => {
    const { options } = parse('dlq:replay', '--id', 'a,b', '--id', 'c');
    expect(options.list('id')).toEqual(['a', 'b', 'c']);
  });

  test('takes anything after -- as it is', () => {
    expect(parse('dlq:show', '--', '--odd').args).toEqual(['--odd']);
  });

  test('with help asks for nothing else', () => {
    expect(parse('dlq:show', '--help').options.flag('help')).toBe(true);
    expect(parse('--help').command).toBeUndefined();
  });

  test.each([
    [['help', 'dlq:replay'], 'write holdfast --help, or holdfast <command> --help'],
    [['dlq:reply'], 'there is no command "dlq:reply"; did you mean dlq:replay?'],
    [['replay'], 'there is no command "replay"; did you mean dlq:replay?'],
    [['something'], 'there is no command "something"; holdfast --help lists them'],
    [['dlq:replay', '--limt', '5'], 'dlq:replay has no option --limt; did you mean --limit?'],
    [['dlq:replay', '-x'], 'dlq:replay has no option -x; holdfast dlq:replay --help lists them'],
    [['--jsn'], 'there is no option --jsn; did you mean --json?'],
    [['dlq:replay', '--limit'], '--limit needs a value: --limit <n>'],
    [['dlq:replay', '--limit', '--dry-run'], '--limit needs a value, and --dry-run looks like an option'],
    [['dlq:replay', '--dry-run=no'], '--dry-run takes no value'],
    [['dlq:replay', '--limit', '5', '--limit', '6'], '--limit was given twice'],
    [['dlq:replay', 'extra'], 'dlq:replay does not take "extra": holdfast dlq:replay'],
    [['dlq:replay', `${ID}:3`], `dlq:replay does not take "${ID}:3": did you mean --id ${ID}:3?`],
    [['dlq:show'], 'dlq:show needs more: holdfast dlq:show <id>'],
  ])('%j is refused', (argv, problem) => {
    expect(problemOf(() => parse(...argv))).toContain(problem);
  });

  test('a value that is not what it should be is refused when it is read', () => {
    const { options } = parse('dlq:replay', '--limit', '1e3', '--since', 'yesterday');
    expect(problemOf(() => options.count('limit'))).toBe('--limit is "1e3"; write a whole number from 1');
    expect(problemOf(() => options.durationMs('since'))).toContain('write a time such as 30s');
    expect(problemOf(() => options.required('id', '<id>'))).toBe('--id is missing; write for example --id <id>');
  });
});
