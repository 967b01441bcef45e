import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../../scripts/run-tool.ts';
import { boundsInCode, numberIn } from '../../scripts/bounds-in-code.ts';

const PAGE = readFileSync(join(ROOT, 'docs/limits.md'), 'utf8');
const [EXPLAINED = '', ALL = ''] = PAGE.split('## Every bound in the code');

/** Rows that name a number and where it stands: `| … | 1,048,576 | … | \`src/x.ts\` \`NAME\` |`. */
function rowsOf(text: string): readonly { readonly value: number; readonly path: string; readonly name: string }[] {
  return [...text.matchAll(/^\|.*\| ([\d,.]+)[^|]*\|.*`(src\/[^`]+)` `(\w+)` \|$/gm)].map(
    ([, value = '', path = '', name = '']) => ({
      value: Number(value.replaceAll(',', '')),
      path,
      name,
    }),
  );
}

describe('docs/limits.md', () => {
  test('names numbers that are those of the code [X.16]', () => {
    const rows = rowsOf(EXPLAINED);
    expect(rows.length).toBeGreaterThan(40);
    for (const { value, path, name } of rows)
      expect({ path, name, value: numberIn(ROOT, path, name) }).toEqual({ path, name, value });
    // Each row of a table is one of them: a number that nobody compares would grow stale.
    const tableRows = EXPLAINED.split('\n').filter((line) => /^\| (?!what \|)/.test(line));
    expect(tableRows).toHaveLength(rows.length);
  });

  test('lists every bound of the code, and no other [X.16]', () => {
    const listed = rowsOf(ALL).map(({ path, name, value }) => `${path} ${name} ${value}`);
    expect(listed).toEqual(boundsInCode(ROOT).map(({ path, name, value }) => `${path} ${name} ${value}`));
  });
});
