import { globSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../../scripts/run-tool.ts';
import { planted } from '../support/planted.ts';
import { brokenLinks } from './links.ts';

describe('links', () => {
  test('of every page lead somewhere', () => {
    const pages = globSync(['*.md', 'docs/**/*.md', 'examples/**/*.md'], { cwd: ROOT });
    expect(pages).toContain('README.md');
    expect(brokenLinks(ROOT, pages)).toEqual([]);
  });

  test('to a missing page and to a missing section are noticed', () => {
    const root = planted({
      'README.md':
        '[a](docs/a.md) [b](docs/b.md) [c](docs/a.md#two-words) [d](docs/a.md#three) [e](#top) [f](https://example.com/x)\n# Top\n',
      'docs/a.md':
        '# A\n\n## Two `words`\n\n```\n## three\n[g](nowhere.md)\n```\n\n`[h](nowhere.md)` [`i`](../README.md)\n',
    });
    expect(brokenLinks(root, ['README.md', 'docs/a.md'])).toEqual([
      'README.md: docs/b.md leads nowhere',
      'README.md: docs/a.md#three names a section that is not there',
    ]);
  });
});
