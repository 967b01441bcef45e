import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../../scripts/run-tool.ts';

const NAME = /'([A-Z][A-Z0-9_]{3,})'/g;

/** Names of variables that a source reads from the environment: those it asks for, and where it asks by a name it holds, all it might hold. */
function variablesIn(source: string): string[] {
  const code = source.replaceAll(/\/\*[^]*?\*\/|\/\/.*$/gm, '');
  const asked = /\benv\[[a-z]/.test(code) ? [code] : (code.match(/\benv\['[A-Z0-9_]+'\]/g) ?? []);
  return asked.flatMap((text) => [...text.matchAll(NAME)].map(([, name = '']) => name));
}

/** The first column of the table below the heading. */
function variablesOf(page: string): string[] {
  const [, rest = ''] = page.split('\n## Environment variables\n');
  const [section = ''] = rest.split('\n## ');
  const rows = [...section.matchAll(/^\| (`[^|]+`) \|/gm)].map(([, cell = '']) => cell);
  return rows.flatMap((cell) => [...cell.matchAll(/`([A-Z0-9_]+)`/g)].map(([, name = '']) => name));
}

describe('the environment variables in docs/reliability.md', () => {
  test('are those that the sources read, each once [S1.13]', () => {
    const sources = globSync('src/**/*.ts', { cwd: ROOT }).filter((file) => !file.endsWith('.test.ts'));
    const read = new Set(sources.flatMap((file) => variablesIn(readFileSync(join(ROOT, file), 'utf8'))));
    const told = variablesOf(readFileSync(join(ROOT, 'docs/reliability.md'), 'utf8'));
    expect(told.toSorted()).toEqual([...read].toSorted());
  });

  test('that are read in any of the ways there are, and told in any row, are found', () => {
    expect(variablesIn("const a = process.env['HOLDFAST_A']; // 'NOT_THIS'")).toEqual(['HOLDFAST_A']);
    expect(variablesIn("for (const name of ['HOLDFAST_B', 'HOLDFAST_C']) look(io.env[name]);")).toEqual([
      'HOLDFAST_B',
      'HOLDFAST_C',
    ]);
    expect(variablesIn("const a = 'NOT_THIS';")).toEqual([]);
    expect(variablesOf('# P\n\n## Environment variables\n\n| `A_B`, `CD` | x |\n\n## Next\n\n| `E` | y |\n')).toEqual([
      'A_B',
      'CD',
    ]);
  });
});
