import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { listTests } from '../../scripts/list-tests.ts';
import { ROOT } from '../../scripts/run-tool.ts';
import { ERROR_MESSAGES } from '../../src/kernel/error-codes.ts';
import { planted } from '../support/planted.ts';
import { errorPageProblems } from './error-page.ts';
import { exportProblems } from './export-map.ts';
import { doubledTitles, vagueNames } from './file-names.ts';

describe('the export map', () => {
  test('mirrors the folders of src/ both ways', () => {
    expect(exportProblems(ROOT)).toEqual([]);
  });

  test('a missing folder, a missing export, a wrong target and an empty src/ are noticed', () => {
    const entry = (at: string): object => ({ types: `./dist/${at}index.d.ts`, default: `./dist/${at}index.js` });
    const manifest = {
      exports: { '.': entry(''), './a': entry('a/'), './b': './dist/b/index.js', './package.json': './package.json' },
    };
    const root = planted({ 'package.json': JSON.stringify(manifest), 'src/b/index.ts': '', 'src/c/d/index.ts': '' });
    expect(exportProblems(root)).toEqual([
      '. is exported, but src/ has no index.ts',
      './a is exported, but src/a has no index.ts',
      expect.stringContaining('./b should be'),
      expect.stringMatching(/src.c.d.index\.ts exists, but package\.json does not export \.\/c\/d/),
    ]);
    expect(exportProblems(planted({ 'package.json': '{ "exports": {} }' }))).toEqual([
      'package.json does not export itself',
      'src/ has no index.ts at all',
    ]);
  });
});

describe('docs/errors.md', () => {
  test('has a section with what to do for each error code, and no other', () => {
    const page = readFileSync(join(ROOT, 'docs', 'errors.md'), 'utf8');
    expect(errorPageProblems(page, Object.keys(ERROR_MESSAGES))).toEqual([]);
  });

  test('a missing, an unknown, a helpless and a misplaced section are noticed', () => {
    const page = '# Errors\n\n## B\n\nIt broke.\n\n**What to do.** Mend it.\n\n## A\n\nIt broke.\n';
    expect(errorPageProblems(page, ['A', 'C'])).toEqual([
      'A does not say what to do',
      'C has no section',
      'B is not an error code',
      'the sections are not in the order of the alphabet',
    ]);
    expect(errorPageProblems('', [])).toEqual(['there are no error codes']);
  });
});

describe('names', () => {
  test('of files say what is inside', () => {
    const files = globSync(['{src,test,scripts,examples,bench}/**/*.{ts,mjs,js}'], { cwd: ROOT });
    expect(files.length).toBeGreaterThan(20);
    expect(vagueNames(files)).toEqual([]);
    expect(vagueNames(['src/a/utils.ts', 'src/a/types.test.ts', 'src/a/retry-types.ts'])).toEqual([
      'src/a/utils.ts',
      'src/a/types.test.ts',
    ]);
  });

  test('of tests are each used once', () => {
    const listed = listTests(ROOT);
    expect(listed.length).toBeGreaterThan(300);
    expect(doubledTitles(listed.map((one) => one.title))).toEqual([]);
    expect(doubledTitles(['a', 'b', 'a', 'a'])).toEqual(['a']);
  });

  test('of tests are found in suites, tables, templates and shared functions', () => {
    const root = planted({
      'src/a.test.ts': `
        describe('a', () => {
          test('plain', () => { /x/.test('not', 'this'); });
          describe.each([1])('deeper %s', () => { test.skip('skipped', () => {}); });
        });
        test.each([[1], [2]])('row %d', () => {});`,
      'test/b/servers.test.ts': `
        import { test as plainTest } from 'vitest';
        const onServer = needs('redis');
        needs('postgres')('on the spot', async () => {});
        onServer('on a server', async () => {});
        plainTest('by another name', () => {});`,
      'test/b/cases.ts':
        'export function cases(name: string) { describe(name, () => {}); it(`${name} holds`, () => {}); }',
    });
    expect(listTests(root)).toEqual([
      { file: 'src/a.test.ts', title: 'a > plain' },
      { file: 'src/a.test.ts', title: 'a > deeper %s > skipped' },
      { file: 'src/a.test.ts', title: 'row %d' },
      { file: 'test/b/cases.ts', title: '… holds' },
      { file: 'test/b/servers.test.ts', title: 'on the spot' },
      { file: 'test/b/servers.test.ts', title: 'on a server' },
      { file: 'test/b/servers.test.ts', title: 'by another name' },
    ]);
    expect(() => listTests(planted({ 'src/a.ts': '' }))).toThrow('there is no test');
  });
});
