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

function zsh(commands: readonly Command[]): string {
  const list = commands.map(({ name, summary }) => `    ${quoted(`${escaped(name)}:${summary}`)}`);
  const cases = commands.map((command) => {
    const options = optionsOf(command).map(([name, { summary, value, multiple }]) =>
      quoted(
        `${multiple === true ? '*' : ''}--${name}[${escaped(summary)}]${value === undefined ? '' : `:${escaped(value)}:_files`}`,
      ),
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
    'compdef _holdfast holdfast',
    '',
  ].join('\n');
}

function fish(commands: readonly Command[]): string {
  const lines = ['# fish completion of holdfast', 'complete -c holdfast -e'];
  for (const command of commands) {
    const { name, summary, verbs = [] } = command;
    lines.push(`complete -c holdfast -n __fish_use_subcommand -f -a ${quoted(name)} -d ${quoted(summary)}`);
    const seen = `-n ${quoted(`__fish_seen_subcommand_from ${name}`)}`;
    if (verbs.length > 0) lines.push(`complete -c holdfast ${seen} -f -a ${quoted(verbs.join(' '))}`);
    for (const [option, { summary: text, value }] of Object.entries(command.options)) {
      lines.push(`complete -c holdfast ${seen} -l ${option}${value === undefined ? '' : ' -r'} -d ${quoted(text)}`);
    }
  }
  for (const [option, { summary, value }] of Object.entries(GLOBAL_OPTIONS)) {
    lines.push(`complete -c holdfast -l ${option}${value === undefined ? '' : ' -r'} -d ${quoted(summary)}`);
  }
  return `${lines.join('\n')}\n`;
}
