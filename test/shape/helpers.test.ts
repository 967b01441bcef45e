import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../../scripts/run-tool.ts';
import { planted } from '../support/planted.ts';

/** Modules below a folder, tests aside, that register something around tests as they are imported. */
function registering(root: string): string[] {
  const helpers = globSync('test/**/*.ts', { cwd: root }).filter((path) => !path.endsWith('.test.ts'));
  return helpers
    .filter((path) => /^(before|after)(All|Each)\(/m.test(readFileSync(join(root, path), 'utf8')))
    .toSorted();
}

test('a helper of tests registers nothing as it is imported, which happens once for all files of a worker', () => {
  const root = planted({
    'test/a.ts': 'afterAll(() => undefined);\n',
    'test/b.ts': 'export function b() {\n  afterAll(() => undefined);\n}\n',
    'test/c.test.ts': 'afterAll(() => undefined);\n',
  });
  expect(registering(root)).toEqual(['test/a.ts']);
  expect(registering(ROOT)).toEqual([]);
});
