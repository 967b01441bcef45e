import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../../scripts/run-tool.ts';
import { documentedCommands, problemOf } from './documented-commands.ts';

const pages = globSync(['README.md', 'docs/**/*.md', 'examples/**/*.md'], { cwd: ROOT });
const commands = pages.flatMap((page) => documentedCommands(page, readFileSync(join(ROOT, page), 'utf8')));

describe('commands that pages tell their readers to type', () => {
  test('are taken by the program as they stand [S1.13]', () => {
    expect(commands.length).toBeGreaterThan(150);
    expect(commands.map(problemOf).filter((problem) => problem !== undefined)).toEqual([]);
  });

  test('that the program does not know, or not so, are noticed', () => {
    const page = [
      'Say `holdfast dlq:peak`, or `holdfast overview`.\n',
      '```sh\nnpx holdfast keys --hand charge # wrong\nexport A=$(npx holdfast messages --json | cat)\n```\n',
      '```console\n$ holdfast handlers stop <name>\nholdfast is what it printed\n```\n',
    ].join('\n');
    expect(documentedCommands('p.md', page).map(problemOf)).toEqual([
      expect.stringContaining('p.md:4: keys has no option --hand'),
      undefined,
      'p.md:9: handlers has no verb stop',
      expect.stringContaining('p.md:1: there is no command "dlq:peak"'),
      undefined,
    ]);
  });
});
