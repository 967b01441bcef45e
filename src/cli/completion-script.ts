import type { Command, OptionSpec } from './command.ts';
import { GLOBAL_OPTIONS } from './parse-line.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;

export type Shell = (typeof SHELLS)[number];

/** A script that teaches a shell the commands, their verbs and their options. It asks nothing of a database. */
export function completionScript(shell: Shell, commands: readonly Command[]): string {
  return { bash, zsh, fish }[shell](commands);
}

function optionsOf({ options }: Command): readonly (readonly [string, OptionSpec])[] {
  return [...Object.entries(options), ...Object.entries(GLOBAL_OPTIONS)];
}

function bash(commands: readonly Command[]): string {
  const cases = commands.map((command) => {
    const options = optionsOf(command).map(([name]) => `--${name}`);
    return `    ${command.name}) words="${[...(command.verbs ?? []), ...options].join(' ')}" ;;`;
  });
  const globals = Object.keys(GLOBAL_OPTIONS).map((name) => `--${name}`);
  return [
    '# bash completion of holdfast',
    '_holdfast() {',
    '  local line="${COMP_LINE:0:COMP_POINT}" command="" cur="" words="" word',
    '  local -a typed',
    '  read -ra typed <<< "$line"',
    // Bash takes a colon for the end of a word; the commands have one inside.
    '  [[ "$line" == *" " ]] || { cur="${typed[-1]}"; unset "typed[-1]"; }',
    '  for word in "${typed[@]:1}"; do [[ "$word" == -* ]] || { command="$word"; break; }; done',
    '  case "$command" in',
    ...cases,
    `    *) words="${[...commands.map((command) => command.name), ...globals].join(' ')}" ;;`,
    '  esac',
    '  COMPREPLY=()',
    '  local before="${cur%"${cur##*:}"}"',
    '  for word in $words; do [[ "$word" == "$cur"* ]] && COMPREPLY+=("${word#"$before"}"); done',
    '  return 0',
    '}',
    'complete -o default -F _holdfast holdfast',
    '',
  ].join('\n');
}

/** In single quotes, for any of the shells. */
function quoted(text: string): string {
  return `'${text.replaceAll(`'`, `'\\''`)}'`;
}

/** What zsh would take for the end of a part. */
function escaped(text: string): string {
  return text.replaceAll(/[\\:[\]]/g, String.raw`\$&`);
}

/** Whether files are offered for a value; for a name or a time they would be in the way. */
function isFile(value: string): boolean {
  return /<(?:file|folder)>/.test(value);
}

/** How zsh is told of a value. Where nothing can be offered, what it is is told. */
function zshValue(value: string | undefined): string {
  return value === undefined ? '' : `:${escaped(value)}:${isFile(value) ? '_files' : ' '}`;
}

function zsh(commands: readonly Command[]): string {
  const list = commands.map(({ name, summary }) => `    ${quoted(`${escaped(name)}:${summary}`)}`);
  const cases = commands.map((command) => {
    const options = optionsOf(command).map(([name, { summary, value, multiple }]) =>
      quoted(`${multiple === true ? '*' : ''}--${name}[${escaped(summary)}]${zshValue(value)}`),
    );
    const verbs = command.verbs === undefined ? [] : [quoted(`1:verb:(${command.verbs.join(' ')})`)];
    return `    ${command.name}) _arguments ${[...verbs, ...options, quoted('*:argument:_files')].join(' ')} ;;`;
  });
  return [
    '#compdef holdfast',
    '_holdfast() {',
    '  local -a commands',
    '  commands=(',
    ...list,
    '  )',
    '  if (( CURRENT == 2 )); then _describe command commands; return; fi',
    '  local command="${words[2]}"',
    '  words=("${words[@]:1}"); (( CURRENT-- ))',
    '  case "$command" in',
    ...cases,
    '  esac',
    '}',
    // Read from the folder of functions it is asked at once; in .zshrc it is made known, also where nobody has begun completion yet.
    'if [[ "${funcstack[1]}" == _holdfast ]]; then',
    '  _holdfast "$@"',
    'else',
    '  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }',
    '  compdef _holdfast holdfast',
    'fi',
    '',
  ].join('\n');
}

/** How fish is told of a value. */
function fishValue(value: string | undefined): string {
  return value === undefined ? '' : isFile(value) ? ' -r' : ' -x';
}

function fish(commands: readonly Command[]): string {
  const lines = [
    '# fish completion of holdfast',
    // The first word that is no option: verbs are called as commands are, such as pause.
    'function __holdfast_is',
    '  set -l typed (commandline -opc)',
    "  test (string match -v -- '-*' $typed[2..])[1] = $argv[1] 2>/dev/null",
    'end',
    'complete -c holdfast -e',
  ];
  for (const command of commands) {
    const { name, summary, verbs = [] } = command;
    lines.push(`complete -c holdfast -n __fish_use_subcommand -f -a ${quoted(name)} -d ${quoted(summary)}`);
    const seen = `-n ${quoted(`__holdfast_is ${name}`)}`;
    const isNext = `-n ${quoted(`__holdfast_is ${name}; and test (count (commandline -opc)) -eq 2`)}`;
    if (verbs.length > 0) lines.push(`complete -c holdfast ${isNext} -f -a ${quoted(verbs.join(' '))}`);
    for (const [option, { summary: text, value }] of Object.entries(command.options)) {
      lines.push(`complete -c holdfast ${seen} -l ${option}${fishValue(value)} -d ${quoted(text)}`);
    }
  }
  for (const [option, { summary, value }] of Object.entries(GLOBAL_OPTIONS)) {
    lines.push(`complete -c holdfast -l ${option}${fishValue(value)} -d ${quoted(summary)}`);
  }
  return `${lines.join('\n')}\n`;
}
