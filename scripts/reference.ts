// node scripts/reference.ts [--check]
//
// Writes docs/reference/ from the declaration files in dist/ and the comments in them: one page for each import path. With --check it
// only says which pages are not what they should be. typedoc does not work with TypeScript 7, and the compiler has no programming
// interface any more; what it writes to dist/ has everything that is needed.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Anchors } from './docs/anchors.ts';
import { declarationsOf, type Declared } from './docs/declarations.ts';
import { isMain } from './is-main.ts';
import { ROOT } from './run-tool.ts';

const FOLDER = join(ROOT, 'docs', 'reference');
const HEADINGS: Readonly<Record<Declared['kind'], string>> = {
  function: 'Functions',
  class: 'Classes',
  value: 'Values',
  type: 'Types',
};

/** The pages by file name. */
export function referencePages(root: string): ReadonlyMap<string, string> {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, { readonly types?: string } | string>>;
  };
  const about = descriptions(readFileSync(join(root, 'docs', 'README.md'), 'utf8'));
  const pages = new Map<string, string>();
  const rows: string[] = [];
  for (const [subpath, target] of Object.entries(exports)) {
    if (typeof target === 'string' || target.types === undefined) continue;
    const path = `holdfast${subpath.slice(1)}`;
    const file = `${subpath === '.' ? 'holdfast' : subpath.slice(2).replaceAll('/', '-')}.md`;
    const declared = declarationsOf(join(root, target.types));
    const description = sentence(about.get(path) ?? '');
    pages.set(file, renderPage(path, description, declared));
    rows.push(`| [\`${path}\`](${file}) | ${description} | ${declared.length} |`);
  }
  const head =
    '# API reference\n\nMade from the declarations and comments of the package (`npm run fix`). One page for each import path.\n';
  pages.set('README.md', `${head}\n| import | what it does | names |\n|---|---|---|\n${rows.join('\n')}\n`);
  return pages;
}

function renderPage(path: string, description: string, declared: readonly Declared[]): string {
  const parts = [`# \`${path}\`\n`, description === '' ? '' : `${description}\n`];
  const headings = new Anchors();
  const anchors = new Map<Declared, string>();
  headings.next(path);
  const kinds = (Object.keys(HEADINGS) as Declared['kind'][]).map((kind) => ({
    kind,
    members: declared.filter((one) => one.kind === kind).toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  }));
  const filled = kinds.filter(({ members }) => members.length > 0);
  for (const { kind, members } of filled) {
    headings.next(HEADINGS[kind]);
    for (const one of members) anchors.set(one, headings.next(one.name));
  }
  for (const { kind, members } of filled) {
    parts.push(
      `**${HEADINGS[kind]}:** ${members.map((one) => `[\`${one.name}\`](#${anchors.get(one)})`).join(' · ')}\n`,
    );
  }
  for (const { kind, members } of filled) {
    parts.push(`## ${HEADINGS[kind]}\n`);
    for (const { name, comment, code } of members) {
      parts.push(
        `### ${name}\n`,
        ...(comment === '' ? [] : [`${prose(comment)}\n`]),
        `\`\`\`typescript\n${code}\n\`\`\`\n`,
      );
    }
  }
  return parts.filter((part) => part !== '').join('\n');
}

/** A comment as Markdown: tags as lists, and nothing that could be taken for HTML. */
function prose(comment: string): string {
  return comment
    .replaceAll(/\{@link (\S+?)\}/g, '`$1`')
    .replaceAll(/^@(\w+)/gm, '- *$1*')
    .replaceAll(/`[^`\n]*`|</g, (match) => (match === '<' ? '&lt;' : match));
}

function sentence(text: string): string {
  return text === '' ? '' : `${(text[0] ?? '').toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`;
}

/** What the table of all imports says of each. */
function descriptions(page: string): ReadonlyMap<string, string> {
  const [, table = ''] = page.split('\n## What is inside\n');
  const found = new Map<string, string>();
  for (const [, cell = '', text = ''] of table.matchAll(
    /^\| ([^|]*`holdfast[^|]*`)(?: \(command\))? \| ([^|]+) \|/gm,
  )) {
    for (const [, name = ''] of cell.matchAll(/`([^`]+)`/g)) {
      const path = name.startsWith('/') ? `holdfast${name}` : name;
      if (!found.has(path)) found.set(path, text.trim());
    }
  }
  return found;
}

if (isMain(import.meta.url)) {
  const pages = referencePages(ROOT);
  const isCheck = process.argv.includes('--check');
  mkdirSync(FOLDER, { recursive: true });
  const there = readdirSync(FOLDER);
  const stale = [
    ...[...pages]
      .filter(([name, page]) => !there.includes(name) || readFileSync(join(FOLDER, name), 'utf8') !== page)
      .map(([name]) => name),
    ...there.filter((name) => !pages.has(name)),
  ];
  if (isCheck)
    for (const name of stale)
      console.error(`docs/reference/${name} is not what the declarations say; run npm run fix.`);
  else {
    for (const name of there.filter((one) => !pages.has(one))) rmSync(join(FOLDER, name));
    for (const [name, page] of pages) writeFileSync(join(FOLDER, name), page);
  }
  process.exitCode = isCheck && stale.length > 0 ? 1 : 0;
}
