import type { Command, OptionSpec } from './command.ts';
import { GLOBAL_OPTIONS } from './parse-line.ts';
import type { Paint } from './paint.ts';

/** What a command is called with is in its own help where it is longer. */
const NAME_WIDTH = 24;
const USAGE_INDENT = ' '.repeat('Usage  '.length);
/** What is left for a meaning where the names take nearly all of a narrow terminal. */
const NARROWEST = 30;
/** Prose in longer lines is hard to read, also where nothing limits them. */
const PROSE_WIDTH = 100;

/** How a page is shown: its colours, and how wide a line may be. */
interface HelpLook {
  readonly paint: Paint;
  readonly width: number;
}

/** The page of `holdfast --help`: every command with a line about it. */
export function helpPage(commands: readonly Command[], { paint, width }: HelpLook): string {
  const lines = commands.map(({ name, args, summary }) => {
    const whole = args === undefined ? name : `${name} ${args.usage}`;
    return [whole.length > NAME_WIDTH ? `${name} …` : whole, summary] as const;
  });
  return [
    'Holdfast: outbox, handlers and dead letters on PostgreSQL.',
    '',
    `${paint.bold('Usage')}  holdfast <command> [options]`,
    '',
    paint.bold('Commands'),
    ...aligned(lines, width),
    '',
    paint.bold('Options of every command'),
    ...aligned(optionLines(GLOBAL_OPTIONS), width),
    '',
    'holdfast <command> --help tells more about one.',
    '',
  ].join('\n');
}

/** The page of `holdfast <command> --help`. */
export function commandHelp(command: Command, { paint, width }: HelpLook): string {
  const { name, args, summary, details = [], options, examples } = command;
  const own = optionLines(options);
  const usage = `holdfast ${name}${args === undefined ? '' : ` ${args.usage}`}${own.length === 0 ? '' : ' [options]'}`;
  return [
    ...wrapped(summary, Math.min(width, PROSE_WIDTH)),
    '',
    `${paint.bold('Usage')}  ${wrapped(usage, width - USAGE_INDENT.length).join(`\n${USAGE_INDENT}`)}`,
    ...(details.length === 0 ? [] : ['', ...wrapped(details.join(' '), Math.min(width, PROSE_WIDTH))]),
    ...(own.length === 0 ? [] : ['', paint.bold('Options'), ...aligned(own, width)]),
    '',
    paint.bold('Options of every command'),
    ...aligned(optionLines(GLOBAL_OPTIONS), width),
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

/** Names and what they mean, in two columns; a long meaning goes on in its column. */
function aligned(lines: readonly (readonly [string, string])[], width: number): string[] {
  const nameWidth = Math.max(...lines.map(([name]) => name.length));
  const left = nameWidth + 4;
  return lines.flatMap(([name, text]) =>
    wrapped(text, Math.max(width - left, NARROWEST)).map(
      (line, at) => `  ${(at === 0 ? name : '').padEnd(nameWidth)}  ${line}`,
    ),
  );
}

/** The text in lines of at most so many columns, unless a word is longer. */
function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
