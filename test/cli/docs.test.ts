import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../../scripts/run-tool.ts';
import { COMMANDS } from '../../src/cli/all-commands.ts';
import type { Command } from '../../src/cli/command.ts';
import { GLOBAL_OPTIONS } from '../../src/cli/parse-line.ts';

const PAGE = readFileSync(join(ROOT, 'docs/cli.md'), 'utf8');

/** Where the page and the program do not match: its sections are the commands, each with its options and an example. */
function pageProblems(page: string, commands: readonly Command[]): string[] {
  const [intro = '', ...parts] = page.split(/^## /m);
  const sections = new Map(parts.map((part) => [/^`(\S+)`\n/.exec(part)?.[1] ?? part.split('\n', 1)[0] ?? '', part]));
  const problems: string[] = [];
  if ([...sections.keys()].join() !== commands.map((command) => command.name).join()) {
    problems.push(`the sections are ${[...sections.keys()].join(', ')}`);
  }
  for (const name of Object.keys(GLOBAL_OPTIONS)) {
    if (!intro.includes(`| \`--${name}`)) problems.push(`--${name} is not in the table of every command`);
  }
  for (const { name, options } of commands) {
    const section = sections.get(name) ?? '';
    for (const option of Object.keys(options)) {
      if (!new RegExp(`--${option}\\b`).test(section)) problems.push(`${name} does not tell of --${option}`);
    }
    if (!section.includes(`\n\`\`\`console\n$ holdfast ${name}`)) problems.push(`${name} has no example`);
  }
  return problems;
}

describe('docs/cli.md', () => {
  test('has a section for each command that exists and no other, with every option and an example', () => {
    expect(pageProblems(PAGE, COMMANDS)).toEqual([]);
  });

  test('a section, an option or an example that is missing is noticed', () => {
    const [first, second] = COMMANDS;
    const commands = [first, second].filter((command) => command !== undefined);
    const intro = Object.keys(GLOBAL_OPTIONS)
      .map((name) => `| \`--${name}\` |`)
      .join('\n');
    expect(pageProblems(`${intro}\n## \`migrate\`\n\n--print\n`, commands)).toEqual([
      'the sections are migrate',
      'migrate does not tell of --grants',
      'migrate does not tell of --lock-timeout',
      'migrate has no example',
      ...Object.keys(second?.options ?? {}).map((name) => `${second?.name} does not tell of --${name}`),
      `${second?.name} has no example`,
    ]);
    expect(pageProblems(PAGE.replace('| `--json`', '| json'), COMMANDS)).toEqual([
      '--json is not in the table of every command',
    ]);
  });
});
