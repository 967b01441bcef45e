import type { Command, OptionSpec } from './command.ts';
import { GLOBAL_OPTIONS } from './parse-line.ts';
import type { Paint } from './paint.ts';

/** The page of `holdfast --help`: every command with a line about it. */
export function helpPage(commands: readonly Command[], paint: Paint): string {
  const lines = commands.map(
    ({ name, args, summary }) => [`${name}${args === undefined ? '' : ` ${args.usage}`}`, summary] as const,
  );
  return [
    'Holdfast: outbox, handlers and dead letters on PostgreSQL.',
    '',
    `${paint.bold('Usage')}  holdfast <command> [options]`,
    '',
    paint.bold('Commands'),
    ...aligned(lines),
    '',
    paint.bold('Options of every command'),
    ...aligned(optionLines(GLOBAL_OPTIONS)),
    '',
    'holdfast <command> --help tells more about one.',
    '',
  ].join('\n');
}

/** The page of `holdfast <command> --help`. */
export function commandHelp(command: Command, paint: Paint): string {
  const { name, args, summary, details = [], options, examples } = command;
  const own = optionLines(options);
  return [
    summary,
    '',
    `${paint.bold('Usage')}  holdfast ${name}${args === undefined ? '' : ` ${args.usage}`}${own.length === 0 ? '' : ' [options]'}`,
    ...(details.length === 0 ? [] : ['', ...details]),
    ...(own.length === 0 ? [] : ['', paint.bold('Options'), ...aligned(own)]),
    '',
    paint.bold('Options of every command'),
    ...aligned(optionLines(GLOBAL_OPTIONS)),
    '',
    paint.bold(examples.length === 1 ? 'Example' : 'Examples'),
    ...examples.map((example) => `  ${example}`),
    '',
  ].join('\n');
}

function optionLines(options: Readonly<Record<string, OptionSpec>>): readonly (readonly [string, string])[] {
  return Object.entries(options).map(([name, spec]) => [
    `--${name}${spec.value === undefined ? '' : ` ${spec.value}`}`,
    `${spec.summary}${spec.default === undefined ? '' : `; default: ${spec.default}`}${spec.multiple === true ? '; may be repeated' : ''}`,
  ]);
}

function aligned(lines: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...lines.map(([name]) => name.length));
  return lines.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`);
}
