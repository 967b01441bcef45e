import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { helpText } from '../../scripts/start/help.ts';
import { PROGRAMS, programOf } from '../../scripts/start/programs.ts';
import { run } from '../agent-chat/process.ts';

const EXAMPLES = fileURLToPath(new URL('../../examples', import.meta.url));

describe('npm start', () => {
  test.each(['--help', '-h', 'help'])('-- %s lists every program on one line of its own', async (argument) => {
    const program = run('../../scripts/start.ts', [argument]);
    expect(await program.ended).toBe(0);
    for (const { name, about } of PROGRAMS) {
      const lines = program
        .output()
        .split('\n')
        .filter((line) => line.startsWith(`  npm start -- ${name} `));
      expect(lines).toEqual([expect.stringMatching(new RegExp(` ${about}$`))]);
    }
  });

  test('prints a help that fits into 80 columns', () => {
    for (const line of helpText().split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
  });

  test('takes a name or the name of a folder, and every example with a program has one', () => {
    const folders = readdirSync(EXAMPLES).filter((folder) => existsSync(join(EXAMPLES, folder, 'README.md')));
    for (const folder of folders) expect(programOf(folder)?.folder).toBe(folder);
    for (const { name, folder, file } of PROGRAMS) {
      expect(existsSync(join(EXAMPLES, folder, file))).toBe(true);
      expect(programOf(name)?.name).toBe(name);
    }
  });

  test.each(['--prot', 'constructor'])('lists what there is when it does not know %s', async (name) => {
    const program = run('../../scripts/start.ts', [name]);
    expect(await program.ended).toBe(1);
    expect(program.output()).toContain(`There is no program "${name}". These can be started:`);
    for (const one of PROGRAMS) expect(program.output()).toContain(`npm start -- ${one.name} `);
  });
});
