import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../../scripts/run-tool.ts';
import { planted } from '../support/planted.ts';
import { directionsIn, wrongImports } from './import-directions.ts';
import { outsideEffects } from './outside-effects.ts';
import { readSources } from '../../scripts/source-tree.ts';

/** Files that may look at the clock although they are not in src/system, and why. */
const MAY_USE_EFFECTS: Record<string, string> = {};

const DIRECTIONS = directionsIn(readFileSync(join(ROOT, 'docs', 'architecture.md'), 'utf8'));

describe('import directions', () => {
  test('hold in every folder, and src/ imports neither packages nor Node', () => {
    const files = readSources(ROOT, 'src/**/*.ts', 'examples/**/*.ts', 'bench/**/*.ts');
    expect(wrongImports(files, DIRECTIONS)).toEqual([]);
  });

  test.each([
    ['src/kernel/a.ts', `import { b } from '../retry/b.ts';`, 'src/kernel may not import src/retry'],
    ['src/kernel/a.ts', `import type { B } from '../retry/b.ts';`, 'src/kernel may not import src/retry'],
    ['src/retry/a.ts', `export * from '../stream/b.ts';`, 'src/retry may not import src/stream'],
    ['src/http/a.ts', `const b = await import('../stream/b.ts');`, 'src/http may not import src/stream'],
    ['src/http/a.ts', `let b: import('../stream/b.ts').B;`, 'src/http may not import src/stream'],
    ['src/index.ts', `export * from './testing/a.ts';`, 'src/. may not import src/testing'],
    ['src/retry/a.ts', `import { readFile } from 'node:fs';`, 'imports Node'],
    ['src/retry/a.ts', `import { z } from 'zod';`, 'imports a package'],
    ['src/embedded/a.ts', `import { Client } from 'pg';`, 'imports a package'],
    ['src/retry/a.ts', `import { b } from '../../scripts/b.ts';`, 'leaves src/'],
    ['src/retry/a.ts', `import { b } from './b.test.ts';`, 'imports a test'],
    ['src/novel/a.ts', `export {};`, 'src/novel has no import rule'],
    ['examples/x/main.ts', `import { b } from '../../src/index.ts';`, 'imports src/ instead of the package'],
  ])('in %s the line %j is noticed', (path, line, problem) => {
    const root = planted({ [path]: `\n${line}\n` });
    expect(wrongImports(readSources(root, 'src/**/*.ts', 'examples/**/*.ts'), DIRECTIONS)).toEqual([
      expect.stringContaining(problem),
    ]);
  });

  test('the right way is not noticed, nor is a test', () => {
    const root = planted({
      'src/retry/a.ts': `import { b } from '../kernel/b.ts'; import { c } from './c.ts';`,
      'src/kernel/a.test.ts': `import { test } from 'vitest'; import { b } from '../testing/b.ts';`,
      'src/index.ts': `export * from './retry/a.ts';`,
      'src/cli/a.ts': `import { parseArgs } from 'node:util'; const { Client } = await import('pg');`,
      'examples/x/main.ts': `import 'holdfast'; import './other.ts'; import 'node:http';`,
    });
    expect(wrongImports(readSources(root, 'src/**/*.ts', 'examples/**/*.ts'), DIRECTIONS)).toEqual([]);
  });

  test('are those of docs/architecture.md', () => {
    expect(DIRECTIONS).toMatchObject({ kernel: [], system: ['kernel'], retry: ['kernel', 'system'] });
    expect(directionsIn('| `src/a` | things | itself |\n| `src/b-c` | more | `a`, `d` |\n| `test` | x | |\n')).toEqual({
      a: [],
      'b-c': ['a', 'd'],
      '.': ['kernel', 'system', 'retry', 'outbox', 'relay', 'transport', 'service'],
    });
  });

  test('a folder without sources is an error, not a clean bill', () => {
    expect(() => readSources(planted({}), 'src/**/*.ts')).toThrow('no file below');
  });
});

describe('clock, timers and chance', () => {
  test('are used in src/system only', () => {
    expect(outsideEffects(readSources(ROOT, 'src/**/*.ts'), MAY_USE_EFFECTS)).toEqual([]);
  });

  test.each([
    ['const t = Date.now();', 'Date.now'],
    ['const t = new Date();', 'the current Date'],
    ['const t = Date();', 'the current Date'],
    ['const t = performance.now();', 'performance'],
    ['setTimeout(() => {}, 1);', 'setTimeout'],
    ['globalThis.setTimeout(() => {}, 1);', 'globalThis.setTimeout'],
    ['const later = setInterval;', 'setInterval'],
    ['const r = Math.random();', 'Math.random'],
  ])('%j is noticed', (line, what) => {
    const root = planted({ 'src/retry/a.ts': line });
    expect(outsideEffects(readSources(root, 'src/**/*.ts'), {})).toEqual([`src/retry/a.ts:1: uses ${what}`]);
  });

  test('a date that is given, a method of that name and src/system are not noticed', () => {
    const root = planted({
      'src/retry/a.ts': 'const t = new Date(5); effects.setTimeout(1); const e = { performance: 1 }; Date.parse("x");',
      'src/system/b.ts': 'Date.now(); Math.random();',
      'src/retry/a.test.ts': 'Date.now();',
    });
    expect(outsideEffects(readSources(root, 'src/**/*.ts'), {})).toEqual([]);
  });

  test('an exception holds for its file, and one that is not needed is noticed', () => {
    const root = planted({ 'src/retry/a.ts': 'Date.now();', 'src/retry/b.ts': 'export {};' });
    const exceptions = { 'src/retry/a.ts': 'a reason', 'src/retry/b.ts': 'a reason' };
    expect(outsideEffects(readSources(root, 'src/**/*.ts'), exceptions)).toEqual([
      'src/retry/b.ts: is an exception that is not needed any more',
    ]);
  });
});
