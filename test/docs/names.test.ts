import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

interface Row {
  readonly ours: string;
  readonly from: string;
}

/** The rows of the page that name an import, as type expressions. */
function rowsWithImport(page: string): Row[] {
  const cells = [...page.matchAll(/^\| [^|]+ \| [^|]+ \| `?([^|`]+)`? \| `([^|`]+)` \|$/gm)];
  return cells.map(([, ours, from]) => ({ ours: ours ?? '', from: from ?? '' }));
}

/** Compiles one use of every name; gives back what the compiler says. */
function compile(rows: readonly Row[]): string {
  const uses = rows.map(({ ours, from }, i) => {
    const name = ours.replace(/\[.*/, '');
    // Naming it in an import fails for what is not exported; a field fails at its type.
    const use = ours === name ? '' : `export type Use${i} = Name${i}${ours.slice(name.length)};`;
    return `import type { ${name} as Name${i} } from '${from}';\nexport type { Name${i} };\n${use}`;
  });
  const cache = join(root, 'node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'names-'));
  try {
    const file = join(folder, 'names.ts');
    writeFileSync(file, uses.join('\n'));
    const options = [
      '--noEmit',
      '--strict',
      '--module',
      'nodenext',
      '--skipLibCheck',
      '--lib',
      'es2023,dom,dom.asynciterable',
    ];
    execFileSync(join(root, 'node_modules/.bin/tsc'), [...options, '--ignoreConfig', file], {
      cwd: root,
      encoding: 'utf8',
    });
    return '';
  } catch (error) {
    return String((error as { stdout?: string }).stdout ?? error);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('every name the page imports is exported under that name', () => {
  const rows = rowsWithImport(readFileSync(join(root, 'docs/names.md'), 'utf8'));
  expect(rows.length).toBeGreaterThan(25);
  expect(compile(rows)).toBe('');
});

test('a name that is not there is noticed', () => {
  const rows = rowsWithImport(
    "| a | `b` | `withRetri` | `holdfast` |\n| a | `b` | `PolicyOptions['nope']` | `holdfast` |",
  );
  expect(rows).toHaveLength(2);
  const said = compile(rows);
  expect(said).toContain('withRetri');
  expect(said).toContain('nope');
});
