import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { boundsInCode } from './bounds-in-code.ts';
import { ROOT } from './run-tool.ts';

const PAGE = join(ROOT, 'docs/limits.md');
const HEADING = '## Every bound in the code';
const INTRO = `
By file. What most of them mean stands above, or beside them in the code. \`node scripts/limits.ts\` writes this list.

|     | how much | where |
| --- | -------- | ----- |
`;

/** Writes the list of every bound in the code at the end of docs/limits.md. */
const [explained = ''] = readFileSync(PAGE, 'utf8').split(HEADING);
const rows = boundsInCode(ROOT).map(
  ({ path, name, value }) => `| | ${value.toLocaleString('en-US')} | \`${path}\` \`${name}\` |`,
);
writeFileSync(PAGE, `${explained}${HEADING}\n${INTRO}${rows.join('\n')}\n`);
