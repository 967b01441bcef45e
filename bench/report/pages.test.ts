import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../../scripts/run-tool.ts';
import { TOPICS } from '../topics.ts';
import { COMMITTED, PAGES, ratiosOutside, sectionsOf } from './render-pages.ts';
import { replaceSections } from './replace-sections.ts';
import type { Report } from './report.ts';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const committed = JSON.parse(read(COMMITTED)) as Report;

describe('what is claimed about speed', () => {
  test.each(PAGES)('in %s is what the report in the repository says', (page) => {
    // Different? npm run bench -- render
    expect(replaceSections(read(page), sectionsOf(committed))).toBe(read(page));
  });

  test('in README.md stands nowhere but where it is written from the report', () => {
    expect(ratiosOutside(read('README.md'))).toEqual([]);
    expect(
      ratiosOutside(
        'It is 3 × as fast, 1.6× the best, 20 % quicker, twice\nas fast as a, half again as fast as b.\n<!-- bench claims -->\n9 × as fast\n<!-- /bench -->\nIt waits for 2 s, 5 times.',
      ),
    ).toEqual(['3 ×', '1.6×', '20 % quicker', 'twice\nas fast', 'half again as fast']);
  });

  test('in the report covers every topic, none of which has failed', () => {
    expect(committed.topics.map(({ name }) => name)).toEqual(TOPICS.map(({ name }) => name));
    expect(committed.topics.filter(({ failure }) => failure !== undefined)).toEqual([]);
  });

  test('in docs/bench.md has a section for every topic', () => {
    const page = read('docs/bench.md');
    for (const { name } of TOPICS) expect(page).toContain(`<!-- bench ${name} -->`);
  });
});
