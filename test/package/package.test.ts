import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pack } from '../../scripts/pack.ts';
import { ROOT_BUDGET_BYTES, rootSize } from '../../scripts/root-size.ts';
import { ROOT, runProgram, runTool } from '../../scripts/run-tool.ts';
import { planted } from '../support/planted.ts';

const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  exports: Record<string, unknown>;
};
const names = Object.keys(exports)
  .filter((subpath) => subpath !== './package.json')
  .map((subpath) => `holdfast${subpath.slice(1)}`);

// A user's folder in which the packed package is installed and nothing else is.
const folder = mkdtempSync(join(tmpdir(), 'holdfast-user-'));
const installed = join(folder, 'node_modules', 'holdfast');
beforeAll(async () => {
  const packed = await pack(folder);
  expect(packed.ok, packed.output).toBe(true);
  writeFileSync(join(folder, 'package.json'), '{ "type": "module", "private": true }');
  const options = ['--offline', '--no-audit', '--no-fund', '--prefix', folder];
  const done = await runProgram(['npm', 'install', ...options, packed.file], { cwd: folder });
  expect(done.ok, done.output).toBe(true);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the installed package', () => {
  test('stands alone: nothing else was installed with it', () => {
    expect(readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual(['holdfast']);
  });

  test('holds no sources of tests and nothing of this repository but what is needed to use it', () => {
    const files = readdirSync(installed, { recursive: true, encoding: 'utf8' });
    expect(files.filter((file) => /\.test\.|^(src|test|scripts|examples|bench)\b/.test(file))).toEqual([]);
    expect(files).toContain(join('dist', 'index.js'));
    // The README points into the guides, also where the package is read without the repository.
    expect(files).toContain(join('docs', 'retry.md'));
  });

  test.each(names)('%s can be imported with no peer installed', async (name) => {
    const code = `const it = await import(${JSON.stringify(name)}); if (Object.keys(it).length === 0) throw new Error('exports nothing');`;
    const result = await runProgram([process.execPath, '--input-type=module', '--eval', code], { cwd: folder });
    expect(result.ok, result.output).toBe(true);
  });

  test('a CommonJS program can require it', async () => {
    const result = await runProgram([process.execPath, '--input-type=commonjs', '--eval', `require('holdfast')`], {
      cwd: folder,
    });
    expect(result.ok, result.output).toBe(true);
  });

  test.each(['nodenext', 'bundler'])(
    'its types stand alone for a user with moduleResolution %s',
    async (resolution) => {
      const user = join(folder, resolution);
      mkdirSync(user);
      const uses = names.map(
        (name, i) => `import * as m${i} from ${JSON.stringify(name)};\nexport const k${i}: object = m${i};\n`,
      );
      writeFileSync(join(user, 'use.ts'), uses.join(''));
      const module = resolution === 'bundler' ? 'esnext' : 'nodenext';
      const compilerOptions = {
        module,
        moduleResolution: resolution,
        strict: true,
        exactOptionalPropertyTypes: true,
        types: [],
        noEmit: true,
      };
      writeFileSync(join(user, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['use.ts'] }));
      const checked = await runTool(['tsc', '-p', 'tsconfig.json'], { cwd: user });
      expect(checked.output).toBe('');
    },
  );

  test('its root export stays within its size', () => {
    expect(rootSize(installed).gzipBytes).toBeLessThanOrEqual(ROOT_BUDGET_BYTES);
  });
});

describe('the size of the root export', () => {
  test('counts every file it loads, once, and refuses a dependency', () => {
    const root = planted({
      'dist/index.js': `export { a } from './a.js';\nimport { b } from './x/b.js';\n`,
      'dist/a.js': `import { b } from './x/b.js';\n`,
      'dist/x/b.js': `import '../a.js';\n`,
      'dist/unused.js': '',
    });
    expect(rootSize(root).files).toEqual(['dist/index.js', 'dist/a.js', 'dist/x/b.js']);
    expect(() => rootSize(planted({ 'dist/index.js': `import fs from 'node:fs';\n` }))).toThrow('imports node:fs');
  });
});
