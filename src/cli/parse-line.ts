import { parseArgs } from 'node:util';
import { nearest } from '../kernel/check-options.ts';
import { isBadId, parseDeliveryId } from '../operator/delivery-id.ts';
import { usageError } from './cli-error.ts';
import type { Command, OptionSpec } from './command.ts';
import { OptionValues } from './option-values.ts';

/** Options that every command takes. */
export const GLOBAL_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  url: {
    value: '<url>',
    summary: 'the database',
    default: 'HOLDFAST_DATABASE_URL, DATABASE_URL, or the PG… variables',
  },
  server: {
    value: '<url>',
    summary: 'a running holdfast serve instead of a database; HOLDFAST_TOKEN is its token',
    default: 'HOLDFAST_SERVER',
  },
  schema: { value: '<name>', summary: 'the schema our tables are in', default: 'HOLDFAST_SCHEMA, or holdfast' },
  json: { summary: 'JSON instead of text' },
  actor: { value: '<name>', summary: 'who does this, for the audit', default: 'user@host' },
  yes: { summary: 'do not ask' },
  help: { summary: 'this help' },
  version: { summary: 'the version of this program' },
};

/** What was typed. */
export interface CommandLine {
  /** Absent where no command was named. */
  readonly command: Command | undefined;
  readonly args: readonly string[];
  readonly options: OptionValues;
}

/** Reads what was typed. What is not known is refused with the nearest that is. */
export function parseLine(argv: readonly string[], commands: readonly Command[]): CommandLine {
  const name = commandName(argv);
  if (name === undefined) return { command: undefined, args: [], options: readOptions(argv, undefined).options };
  const command = commands.find((one) => one.name === name);
  if (command === undefined) throw unknownCommand(name, commands);
  const { options, positionals } = readOptions(argv, command);
  const args = positionals.slice(1);
  if (!options.flag('help')) checkArgs(command, args);
  return { command, args, options };
}

/** The first word that is neither an option nor the value of one. */
function commandName(argv: readonly string[]): string | undefined {
  const { tokens } = parse(argv, GLOBAL_OPTIONS);
  return tokens.find((token) => token.kind === 'positional')?.value;
}

type Token =
  | { readonly kind: 'positional'; readonly value: string }
  | {
      readonly kind: 'option';
      readonly name: string;
      readonly rawName: string;
      readonly value: string | undefined;
      readonly inlineValue: boolean | undefined;
    }
  | { readonly kind: 'option-terminator' };

function parse(argv: readonly string[], specs: Readonly<Record<string, OptionSpec>>): { readonly tokens: Token[] } {
  const options = Object.fromEntries(
    Object.entries(specs).map(([name, spec]) => [
      name,
      { type: spec.value === undefined ? ('boolean' as const) : ('string' as const), multiple: true },
    ]),
  );
  // Not strict: its messages cannot name the nearest option, and end with a stack trace's worth of advice.
  const { tokens } = parseArgs({ args: [...argv], options, strict: false, allowPositionals: true, tokens: true });
  return { tokens };
}

function readOptions(
  argv: readonly string[],
  command: Command | undefined,
): { readonly options: OptionValues; readonly positionals: readonly string[] } {
  const specs = { ...GLOBAL_OPTIONS, ...command?.options };
  const given = new Map<string, (string | true)[]>();
  const positionals: string[] = [];
  for (const token of parse(argv, specs).tokens) {
    if (token.kind === 'positional') positionals.push(token.value);
    if (token.kind !== 'option') continue;
    // Not what every object has: there is no option --constructor.
    const spec = Object.hasOwn(specs, token.name) ? specs[token.name] : undefined;
    if (spec === undefined) throw unknownOption(token.rawName, command, specs);
    const value = optionValue(token, spec);
    const before = given.get(token.name) ?? [];
    if (before.length > 0 && value !== true && spec.multiple !== true) {
      throw usageError(`--${token.name} was given twice; it takes one value`);
    }
    given.set(token.name, [...before, value]);
  }
  return { options: new OptionValues(given), positionals };
}

function optionValue(token: Extract<Token, { kind: 'option' }>, spec: OptionSpec): string | true {
  const { rawName, value, inlineValue } = token;
  if (spec.value === undefined) {
    if (inlineValue === true) throw usageError(`${rawName} takes no value`);
    return true;
  }
  if (value === undefined || value === '') throw usageError(`${rawName} needs a value: ${rawName} ${spec.value}`);
  if (inlineValue !== true && value.startsWith('-')) {
    throw usageError(
      `${rawName} needs a value, and ${value} looks like an option; write ${rawName}=${value} if it is meant`,
    );
  }
  return value;
}

function checkArgs({ name, args, options }: Command, given: readonly string[]): void {
  const { usage, min, max } = args ?? { usage: '', min: 0, max: 0 };
  const form = `holdfast ${name}${usage === '' ? '' : ` ${usage}`}`;
  if (given.length < min) throw usageError(`${name} needs more: ${form}`);
  const extra = given[max];
  if (extra === undefined) return;
  const isId = options['id'] !== undefined && !isBadId(parseDeliveryId(extra));
  throw usageError(`${name} does not take ${JSON.stringify(extra)}: ${isId ? `did you mean --id ${extra}?` : form}`);
}

function unknownCommand(name: string, commands: readonly Command[]): Error {
  if (name === 'help') return usageError('write holdfast --help, or holdfast <command> --help');
  const known = commands.map((command) => command.name);
  // "peek" for dlq:peek is as near as a misspelling.
  const near = nearest(name, known) ?? known.find((one) => one.split(':')[1] === name);
  const advice = near === undefined ? 'holdfast --help lists them' : `did you mean ${near}?`;
  return usageError(`there is no command ${JSON.stringify(name)}; ${advice}`);
}

function unknownOption(raw: string, command: Command | undefined, specs: Readonly<Record<string, OptionSpec>>): Error {
  const word = raw.replace(/^-+/, '');
  // A single letter is near to everything.
  const near = word.length < 2 ? undefined : nearest(word, Object.keys(specs));
  const help = `holdfast ${command === undefined ? '' : `${command.name} `}--help lists them`;
  const owner = command === undefined ? 'there is no option' : `${command.name} has no option`;
  return usageError(`${owner} ${raw}; ${near === undefined ? help : `did you mean --${near}?`}`);
}
