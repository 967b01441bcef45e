import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { referencePages } from '../../scripts/reference.ts';
import { ROOT } from '../../scripts/run-tool.ts';
import { planted } from '../support/planted.ts';

describe('docs/reference', () => {
  test('is what the declarations say; npm run fix makes it anew [S1.13]', () => {
    const folder = join(ROOT, 'docs', 'reference');
    const there = readdirSync(folder).map((name): [string, string] => [name, readFileSync(join(folder, name), 'utf8')]);
    const pages = referencePages(ROOT);
    expect(pages.size).toBeGreaterThan(25);
    expect(there.filter(([name, page]) => pages.get(name) !== page).map(([name]) => name)).toEqual([]);
    expect([...pages.keys()].toSorted()).toEqual(there.map(([name]) => name).toSorted());
  });

  test('follows names through files, keeps comments and overloads, and tells two that differ in case alone apart', () => {
    const root = planted({
      'package.json': JSON.stringify({
        exports: { './a': { types: './dist/a/index.d.ts' }, './package.json': './package.json' },
      }),
      'docs/README.md': '# D\n\n## What is inside\n\n| import | what |\n|---|---|\n| `holdfast/a` | does a | x |\n',
      'dist/a/index.d.ts': "export { make, type Make as Making } from '../b.js';\nexport * from '../c.ts';\n",
      'dist/b.d.ts':
        '/** Not this. */\ndeclare const hidden: 1;\n/**\n * Makes {@link Make}, or a <b>.\n */\nexport declare function make(a: string): Make;\nexport declare function make(a: number): Make;\nexport interface Make {\n    /** Of it. */\n    readonly a: string;\n}\n',
      'dist/c.d.ts':
        "import type { Make } from './b.ts';\nexport type { Make };\n/** A value. */\nexport declare const MAKE: Make;\n",
    });
    const page = referencePages(root).get('a.md') ?? '';
    expect(page).toContain('# `holdfast/a`\n\nDoes a.\n');
    expect(page).toContain('**Functions:** [`make`](#make)\n');
    expect(page).toContain('**Values:** [`MAKE`](#make-1)\n');
    expect(page).toContain('**Types:** [`Make`](#make-2) · [`Making`](#making)\n');
    expect(page).toContain(
      '### make\n\nMakes `Make`, or a &lt;b>.\n\n```typescript\nfunction make(a: string): Make;\nfunction make(a: number): Make;\n```\n',
    );
    expect(page).toContain('interface Make {\n  /** Of it. */\n  readonly a: string;\n}');
    expect(page).not.toContain('hidden');
  });

  test('a name that no file declares is an error, not an empty line', () => {
    const root = planted({
      'package.json': JSON.stringify({ exports: { '.': { types: './dist/index.d.ts' } } }),
      'docs/README.md': '# D\n',
      'dist/index.d.ts': "export { lost } from './b.ts';\n",
      'dist/b.d.ts': 'export {};\n',
    });
    expect(() => referencePages(root)).toThrow('exports lost, which no declaration file has');
  });
});
