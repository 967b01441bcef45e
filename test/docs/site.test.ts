import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { AxeResults } from 'axe-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type BuiltSite, buildSite } from '../../scripts/docs/build-site.ts';
import { addressOf, navigationOf } from '../../scripts/docs/navigation.ts';
import { renderPage } from '../../scripts/docs/render-page.ts';
import { ROOT } from '../../scripts/run-tool.ts';
import { launchChromium } from '../support/chromium.ts';
import { needs } from '../support/needs.ts';
import { planted } from '../support/planted.ts';

const site = mkdtempSync(join(tmpdir(), 'holdfast-site-'));
let built: BuiltSite;
beforeAll(() => void (built = buildSite(ROOT, site)));
afterAll(() => rmSync(site, { recursive: true, force: true }));

/** Addresses in the pages of a folder that lead to a file, or to a place in one, that is not there; or out of it. */
function deadEnds(folder: string): string[] {
  const pages = new Map(
    globSync('**/*.html', { cwd: folder }).map((page): [string, string] => [
      page,
      readFileSync(join(folder, page), 'utf8'),
    ]),
  );
  const ids = new Map(
    [...pages].map(([page, html]) => [page, new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))]),
  );
  const problems: string[] = [];
  for (const [page, html] of pages) {
    for (const [, address = ''] of html.matchAll(/ (?:href|src)="([^"]+)"/g)) {
      if (/^https?:/.test(address)) continue;
      const [path = '', anchor] = address.split('#');
      const file = path === '' ? page : join(dirname(page), path);
      if (!existsSync(join(folder, file))) problems.push(`${page}: ${address}`);
      else if (anchor !== undefined && ids.get(file)?.has(anchor) === false) problems.push(`${page}: ${address}`);
    }
  }
  return problems;
}

describe('the site of the documentation', () => {
  test('has every page, in its navigation too, and no link that leads nowhere [S1.13]', () => {
    expect(built.pages).toBeGreaterThan(90);
    expect({ broken: built.broken, unlisted: built.unlisted }).toEqual({ broken: [], unlisted: [] });
    expect(deadEnds(site)).toEqual([]);
  });

  test('loads nothing from elsewhere', () => {
    const texts = globSync('**/*.{html,css}', { cwd: site }).map((file) => readFileSync(join(site, file), 'utf8'));
    const loaded = texts.flatMap(
      (text) =>
        text.match(/(?:<(?:script|link|img|iframe)[^>]*(?:src|href)="https?:[^"]*|url\(["']?https?:[^)]*|@import)/g) ??
        [],
    );
    expect(loaded).toEqual([]);
  });

  test('notices a missing file and a missing place', () => {
    const folder = planted({
      'index.html':
        '<a href="a/b.html#x"></a><a href="a/b.html#y"></a><a href="c.html"></a><a href="https://example.com">',
      'a/b.html': '<h2 id="x"></h2><img src="../p.png">',
    });
    expect(deadEnds(folder).toSorted()).toEqual(['a/b.html: ../p.png', 'index.html: a/b.html#y', 'index.html: c.html']);
  });

  test('a page that nobody put into the navigation is told, one that is not there yet is left out', () => {
    const parts = [
      { title: 'A', pages: ['docs/a.md', 'docs/not-yet.md'] },
      { title: 'B', pages: ['docs/b/*', 'docs/b/first.md'] },
    ];
    const there = ['docs/a.md', 'docs/b/first.md', 'docs/b/z.md', 'docs/c.md'];
    expect(navigationOf(parts, there).map(({ pages }) => pages)).toEqual([
      ['docs/a.md'],
      ['docs/b/z.md', 'docs/b/first.md'],
    ]);
    expect(
      ['README.md', 'docs/a.md', 'docs/b/README.md', 'examples/x/README.md', 'SECURITY.md'].map(addressOf),
    ).toEqual(['index.html', 'a.html', 'b/index.html', 'examples/x.html', 'security.html']);
  });

  test('keeps what readers need not see out of a page, and what looks like HTML in it harmless', () => {
    const { html, title, sections } = renderPage(
      '# A `b`\n\nText\n\n<!-- before\nhidden();\n-->\n\n```ts\n// shop.ts\nconst a: Array<string> = [];\n```\n\n## One\n\n## One\n\n[x](../src/y)\n',
      { linkTo: () => undefined, drawing: () => '' },
    );
    expect(title).toBe('A b');
    expect(html).not.toContain('hidden');
    expect(html).toContain('<span class="code-label">shop.ts</span>');
    expect(html).toContain('&lt;');
    expect(html).not.toContain('<string>');
    expect(html).toContain('<span class="in-repository" title="In the repository: ../src/y">x</span>');
    expect(sections.map(({ anchor }) => anchor)).toEqual(['', 'one', 'one-1']);
  });
});

needs('chromium')(
  'the site can be read and searched by everybody: both themes, wide and narrow, by keyboard alone [S1.13]',
  async ({ chromium }) => {
    const { context, close } = await launchChromium(chromium.url);
    onTestFinished(close);
    const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
    const page = await context.newPage();
    const errors: string[] = [];
    page.on('pageerror', (error) => void errors.push(error.message));
    const open = async (path: string): Promise<void> => void (await page.goto(pathToFileURL(join(site, path)).href));
    const problems = async (): Promise<readonly string[]> => {
      await page.addScriptTag({ path: axe });
      const run = `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa'] })`;
      const { violations } = (await page.evaluate(run)) as AxeResults;
      return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
    };
    for (const [path, colorScheme, width] of [
      ['index.html', 'light', 1_440],
      ['concepts/leases-and-fences.html', 'dark', 1_440],
      ['guides/keep-order-by-key.html', 'light', 390],
      ['reference/kafka.html', 'dark', 390],
    ] as const) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 844 });
      await open(path);
      expect(await problems(), `${path} ${colorScheme} ${width}`).toEqual([]);
      // Nothing but what scrolls by itself is wider than the window.
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), path).toBeLessThanOrEqual(0);
    }
    await page.setViewportSize({ width: 1_200, height: 844 });
    await open('guides/schedule.html');
    await page.keyboard.press('/');
    await page.keyboard.type('replay dead letters');
    await page.locator('#results a').first().waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL(/guides\/replay-dead-letters\.html$/);
    await page.getByRole('button', { name: 'Change the theme' }).click();
    const chosen = await page.evaluate('document.documentElement.dataset.theme');
    await open('index.html');
    expect(await page.evaluate('document.documentElement.dataset.theme')).toBe(chosen);
    expect(errors).toEqual([]);
  },
);
