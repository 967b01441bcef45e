import { globSync, readFileSync } from 'node:fs';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROOT, runProgram, runTool } from '../../scripts/run-tool.ts';
import { expectedOutput, type Snippet, snippetsOf } from './snippets.ts';

const pages = ['README.md', ...globSync('docs/**/*.md', { cwd: ROOT })];
const snippets = pages.flatMap((page) => snippetsOf(page, readFileSync(join(ROOT, page), 'utf8')));

// A folder in which the package is found by its name, and our development dependencies by theirs.
const root = mkdtempSync(join(realpathSync(tmpdir()), 'holdfast-snippets-'));
const folder = join(root, 'user');
beforeAll(() => {
  mkdirSync(join(folder, 'node_modules'), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  symlinkSync(ROOT, join(folder, 'node_modules', 'holdfast'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

function write(name: string, code: string): string {
  const file = join(folder, `${name}.ts`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, code);
  return file;
}

/** A block that names its file in the first line is found by the others of its page under that name. */
function fileOf({ place, code }: Snippet): string {
  const [page = '', line = ''] = place.split(':').map((part) => part.replaceAll(/[^A-Za-z0-9]/g, '-'));
  return join(page, /^\/\/ (\S+)\.ts\n/.exec(code)?.[1] ?? line);
}

async function typeCheck(files: string[]): Promise<string> {
  // As in programs on Nest.
  const compilerOptions = { experimentalDecorators: true };
  const options = { extends: join(ROOT, 'tsconfig.json'), compilerOptions, include: [], exclude: [], files };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(options));
  return (await runTool(['tsc', '-p', 'tsconfig.json'], { cwd: folder })).output;
}

async function expectToRun(file: string, code: string): Promise<void> {
  const { ok, output } = await runProgram([process.execPath, file], { cwd: folder });
  expect(ok, output).toBe(true);
  const expected = expectedOutput(code);
  if (expected !== undefined) expect(output.trimEnd().split('\n')).toEqual(expected);
}

describe('the code in README.md and docs/', () => {
  test('is there', () => {
    expect(snippets.filter((one) => one.place.startsWith('README.md')).length).toBeGreaterThan(0);
    expect(snippets.filter((one) => one.runs).length).toBeGreaterThan(0);
  });

  test('has the right types', async () => {
    const files = snippets.map((one) => write(fileOf(one), `${one.code}\nexport {};\n`));
    expect(await typeCheck(files)).toBe('');
  });

  test.each(snippets.filter((one) => one.runs))('runs as it stands: $place', async ({ code, place }) => {
    await expectToRun(write(`run-${place.replaceAll(/[^A-Za-z0-9]/g, '-')}`, code), code);
  });
});

describe('the check of code in pages', () => {
  test('finds the blocks with their place, their mark and what stands hidden before them', () => {
    const page =
      'Text\n\n```ts run\na();\n```\n\n<!-- before\nimport { b } from "b";\n-->\n\n```ts\nb();\n```\n\n```sh\nc\n```\n';
    expect(snippetsOf('p.md', page)).toEqual([
      { place: 'p.md:4', runs: true, code: 'a();\n' },
      { place: 'p.md:12', runs: false, code: 'import { b } from "b";\nb();\n' },
    ]);
    expect(() => snippetsOf('p.md', '```ts runs\n```\n')).toThrow('p.md:1: a block is marked');
  });

  test.each([
    ['console.log(1 + 1); // → 2', 'console.log(1 + 1); // → 3'],
    ['console.log({ a: [1] });\n// → { a: [ 1 ] }', 'console.log({ a: [1] });\n// → { a: [ 2 ] }'],
    ['console.log(1); // → 1\nconsole.log(2); // → 2', 'console.log(1); // → 1\nconsole.log(2);'],
    ['const a: number = 1;', 'const a: number = nothing;'],
  ])('runs %j and refuses %j', async (right, wrong) => {
    await expectToRun(write('right', right), right);
    await expect(expectToRun(write('wrong', wrong), wrong)).rejects.toThrow(/expected/);
  });

  test('sees a wrong type, and the package by its name', async () => {
    const file = write(
      'typed',
      `import { isHoldfastError } from 'holdfast';\nexport const a: string = isHoldfastError(1);\n`,
    );
    expect(await typeCheck([file])).toMatch(/^typed\.ts\(2,14\): error TS2322: Type 'boolean'/);
  });
});
