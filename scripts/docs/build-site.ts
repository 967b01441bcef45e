import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { layout, type Menu } from './layout.ts';
import { addressOf, NAVIGATION, navigationOf } from './navigation.ts';
import { renderPage, type RenderedPage } from './render-page.ts';

/** The pages of the repository that the site has. */
const PAGES = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'docs/**/*.md', 'examples/*/README.md'];
const ASSETS = join(import.meta.dirname, 'assets');

export interface BuiltSite {
  readonly pages: number;
  /** Links to a page or a file that is not there. Sections are looked at by the test of links. */
  readonly broken: readonly string[];
  /** Pages that no part of the navigation has. */
  readonly unlisted: readonly string[];
}

/** Writes the whole site into `out`, which is emptied first. */
export function buildSite(root: string, out: string): BuiltSite {
  // Reports are kept as they were written.
  const there = globSync(PAGES, { cwd: root, exclude: ['docs/reports/**'] }).toSorted();
  const broken: string[] = [];
  const files = new Set<string>();
  const rendered = new Map<string, RenderedPage>();
  for (const page of there) {
    const linkTo = (target: string): string | undefined => {
      if (/^[a-z]+:/.test(target)) return target;
      const [path = '', section] = target.split('#');
      const hash = section === undefined ? '' : `#${section}`;
      const file = path === '' ? page : posix.join(posix.dirname(page), path);
      if (!existsSync(join(root, file))) broken.push(`${page}: ${target}`);
      else if (there.includes(file)) return path === '' ? hash : `${relative(page, addressOf(file))}${hash}`;
      else if (/^docs\/.*\.(html|png|json|yml)$/.test(file) && statSync(join(root, file)).isFile()) {
        files.add(file);
        return relative(page, file.replace(/^docs\//, ''));
      }
      return undefined;
    };
    const drawing = (target: string): string => readFileSync(join(root, dirname(page), target), 'utf8');
    rendered.set(page, renderPage(readFileSync(join(root, page), 'utf8'), { linkTo, drawing }));
  }
  const parts = navigationOf(NAVIGATION, there);
  const titleOf = (page: string): string => (rendered.get(page)?.title ?? page).replace(/^Coming from /, '');
  const menus: Menu[] = parts.map(({ pages, ...part }) => ({
    ...part,
    entries: pages.map((page) => ({ title: titleOf(page), address: addressOf(page) })),
  }));
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  cpSync(ASSETS, join(out, 'assets'), { recursive: true });
  for (const file of files) copy(join(root, file), join(out, file.replace(/^docs\//, '')));
  for (const [page, one] of rendered)
    write(join(out, addressOf(page)), layout({ page: one, address: addressOf(page) }, menus));
  write(join(out, 'assets', 'search-index.js'), searchIndex(rendered));
  const listed = new Set(parts.flatMap(({ pages }) => pages));
  return { pages: rendered.size, broken, unlisted: there.filter((page) => !listed.has(page)) };
}

function relative(page: string, address: string): string {
  return posix.relative(posix.dirname(addressOf(page)), address);
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to);
}

/** A script and no JSON: a page that was opened from a folder may not fetch. */
function searchIndex(rendered: ReadonlyMap<string, RenderedPage>): string {
  const entries = [...rendered].flatMap(([page, { title, sections }]) =>
    sections.map(({ anchor, heading, text }) => {
      // Reference pages are found by names; their code would drown everything else.
      const most = page.startsWith('docs/reference/') ? 160 : 1_500;
      return [addressOf(page), title, anchor, heading, text.slice(0, most)];
    }),
  );
  return `window.searchIndex = ${JSON.stringify(entries)};\n`;
}
