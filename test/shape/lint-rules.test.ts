import { cpSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT, runTool } from '../../scripts/run-tool.ts';
import { planted } from '../support/planted.ts';

/** Rule → a line that must set it off. These are the rules we rely on; a misspelt name in the configuration would be silent. */
const FAULTS: Record<string, string> = {
  'typescript(no-floating-promises)': 'export function a() { Promise.resolve(1); }',
  'typescript(no-misused-promises)': 'export function a() { [1].forEach(async () => { await Promise.resolve(); }); }',
  'typescript(return-await)': 'export async function a() { try { return Promise.resolve(1); } catch { return 2; } }',
  'typescript(switch-exhaustiveness-check)': `export function a(x: 'p' | 'q') { switch (x) { case 'p': return 1; } return 2; }`,
  'typescript(consistent-type-imports)': `import { B } from './b.ts'; export type A = B;`,
  'typescript(no-explicit-any)': 'export const a: any = 1;',
  'typescript(no-non-null-assertion)': 'export const a = [1].at(0)!;',
  'typescript(ban-ts-comment)': '// @ts-ignore\nexport const a = 1;',
  'typescript(only-throw-error)': `export function a() { throw 'text'; }`,
  'typescript(await-thenable)': 'export async function a() { await 1; }',
  'eslint(eqeqeq)': 'export const a = (b: number) => b == 1;',
  'eslint(no-console)': `console.log('a');`,
  'eslint(no-unused-vars)': 'const a = 1; export {};',
  'eslint(max-lines)': `export {};\n${'// a\n'.repeat(400)}`,
  'eslint(max-lines-per-function)': `export function a() {\n${'  // b\n'.repeat(60)}}`,
  'import(no-default-export)': 'export default 1;',
  'import(no-cycle)': `export { B } from './cycle.ts';`,
};

const IN_TESTS: Record<string, string> = {
  'vitest(no-focused-tests)': `test.only('a', () => { expect(1).toBe(1); });`,
  'vitest(no-identical-title)': `test('a', () => { expect(1).toBe(1); });\ntest('a', () => { expect(1).toBe(1); });`,
  'vitest(expect-expect)': `test('a', () => {});`,
};

describe('lint rules', () => {
  test('each rule that we rely on is set off by its fault', async () => {
    const fileOf = new Map<string, string>();
    const files: Record<string, string> = {
      'src/b.ts': 'export type B = 1;',
      'src/cycle.ts': `export type B = 2; export { B as C } from './import-no-cycle.ts';`,
      'src/camelCase.ts': 'export const a = 1;',
    };
    const nameOf = (rule: string): string => rule.replaceAll(/[()]/g, '-').replace(/-$/, '');
    for (const [rule, text] of Object.entries(FAULTS)) {
      fileOf.set(rule, `src/${nameOf(rule)}.ts`);
      files[`src/${nameOf(rule)}.ts`] = `${text}\n`;
    }
    for (const [rule, text] of Object.entries(IN_TESTS)) {
      fileOf.set(rule, `src/${nameOf(rule)}.test.ts`);
      files[`src/${nameOf(rule)}.test.ts`] = `import { expect, test } from 'vitest';\n${text}\nexpect;\n`;
    }
    fileOf.set('unicorn(filename-case)', 'src/camelCase.ts');

    const root = planted(files);
    for (const name of ['.oxlintrc.json', 'tsconfig.json']) cpSync(join(ROOT, name), join(root, name));
    symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
    const { output } = await runTool(['oxlint', '--type-aware', '--format=json', 'src'], { cwd: root });
    const found = (JSON.parse(output) as { diagnostics: { code?: string; filename: string }[] }).diagnostics;
    const silent = [...fileOf].filter(
      ([rule, file]) => !found.some((one) => one.code === rule && one.filename === file),
    );
    expect(silent).toEqual([]);
  });
});
