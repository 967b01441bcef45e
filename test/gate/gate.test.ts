import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runProgram, type ToolResult } from '../../scripts/run-tool.ts';
import { smallRepository } from './small-repository.ts';

function gate(root: string, task: string, ...args: string[]): Promise<ToolResult> {
  return runProgram([process.execPath, join(root, 'scripts', `${task}.ts`), ...args], { cwd: root });
}

function lastLine(result: ToolResult): string | undefined {
  return result.output.trimEnd().split('\n').at(-1);
}

describe('npm run check', () => {
  test('every step notices its own kind of fault, and a failing step does not hide the next', async () => {
    const root = smallRepository({
      'src/format.ts': 'export   const format = 1;\n',
      'src/lint.ts': 'export const lint = (): void => {\n  Promise.resolve(1);\n};\n',
      'test/types.ts': 'export const types: string = 1;\n',
      'console/src/app-types.ts': 'export const appTypes: string = 1;\n',
      'src/unknown-id.test.ts': `import { expect, test } from 'vitest';\n\ntest('a fact [S9.99]', () => {\n  expect(1).toBe(1);\n});\n`,
    });
    const { ok, output } = await gate(root, 'check');
    expect(ok).toBe(false);
    expect(output).toMatch(/^FAIL  format [^]*src\/format\.ts/m);
    expect(output).toMatch(/^ok    build /m);
    expect(output).toMatch(/^FAIL  lint [^]*no-floating-promises[^]*src\/lint\.ts/m);
    expect(output).toMatch(/^FAIL  types [^]*test\/types\.ts/m);
    expect(output).toMatch(/^FAIL  types of console [^]*app-types\.ts/m);
    expect(output).toMatch(/^FAIL  generated files [^]*names \[S9\.99\], which is no requirement[^]*run npm run fix/m);
    expect(output).toMatch(/^FAIL  unused code [^]*src\/lint\.ts/m);
  });
});

describe('npm test', () => {
  test('shows a failing test and counts it on the last line', async () => {
    const root = smallRepository({
      'src/a.test.ts': `import { expect, test } from 'vitest';\ntest('fine', () => {\n  expect(1).toBe(1);\n});\ntest('wrong', () => {\n  expect(1).toBe(2);\n});\n`,
    });
    const result = await gate(root, 'test', 'src/a.test.ts');
    expect(result.ok).toBe(false);
    expect(result.output).toContain('expected 1 to be 2');
    // The build and the test that is fine.
    expect(lastLine(result)).toBe('2 passed, 1 failed');
  });

  test('a file that cannot be loaded, a test skipped in silence and a stray rejection are failures', async () => {
    const root = smallRepository({
      'src/load.test.ts': `import './nowhere.ts';\n`,
      'src/skip.test.ts': `import { test } from 'vitest';\ntest('later', (context) => context.skip('no time'));\n`,
      'src/stray.test.ts': `import { test } from 'vitest';\ntest('fine', () => {\n  void Promise.reject(new Error('nobody waits'));\n});\n`,
    });
    const result = await gate(root, 'test', 'src');
    expect(result.ok).toBe(false);
    expect(result.output).toMatch(/^FAIL  could not run: src\/load\.test\.ts: .*nowhere/m);
    expect(result.output).toMatch(/^FAIL  skipped, but not listed in test\/skips\.json: later \(no time\)/m);
    expect(result.output).toMatch(/^FAIL  an error nobody caught: nobody waits/m);
    expect(lastLine(result)).toBe('2 passed, 3 failed');
  });

  test('a listed skip is printed as not proven and counted apart', async () => {
    const root = smallRepository({
      'src/a.test.ts': `import { expect, test } from 'vitest';\ntest('fine', () => {\n  expect(1).toBe(1);\n});\ntest.skip('later', () => {});\n`,
      'test/skips.json': '{ "tests": { "later": "there is no such disk here" }, "services": {} }\n',
    });
    const result = await gate(root, 'test', 'src');
    expect(result.output).toContain('NOT PROVEN  later: there is no such disk here');
    expect(lastLine(result)).toBe('2 passed, 0 failed, 1 skipped');
    expect(result.ok).toBe(true);
  });

  test('no test at all is a failure', async () => {
    const result = await gate(smallRepository({}), 'test', 'src');
    expect(lastLine(result)).toMatch(/^1 passed, [1-9]\d* failed$/);
    expect(result.ok).toBe(false);
  });

  test('a package that does not build ends the gate at once', async () => {
    const result = await gate(smallRepository({ 'src/index.ts': 'export const a: string = 1;\n' }), 'test', 'src');
    expect(result.output).toContain('src/index.ts(1,14): error');
    expect(lastLine(result)).toBe('0 passed, 1 failed');
    expect(result.ok).toBe(false);
  });
});
