import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMain } from './is-main.ts';
import { listTests, type ListedTest } from './list-tests.ts';
import { ROOT } from './run-tool.ts';

/** docs/requirements.json: what is promised, in our own words. */
export interface Requirements {
  readonly requirements: readonly Requirement[];
  /** Behaviours that are easy to get wrong, `F.1` to `F.25`. */
  readonly tricky: readonly Requirement[];
}

export interface Requirement {
  readonly id: string;
  readonly title: string;
  /** Where it is explained: a path below docs/, with the section after `#`. */
  readonly doc?: string;
  /** Which part is there, where not all of it is. */
  readonly partly?: string;
  /** What to paste to see it; default: the command that runs its tests. */
  readonly command?: string;
}

const PAGE = join(ROOT, 'docs', 'requirements.md');
const DATA = join(ROOT, 'docs', 'requirements.json');

/** The page, and what is wrong with the ids in the titles of the tests. Pure. */
export function renderRequirements(
  data: Requirements,
  tests: readonly ListedTest[],
): { readonly page: string; readonly problems: readonly string[] } {
  const known = [...data.requirements, ...data.tricky].map((row) => row.id);
  const problems = known
    .filter((id, i) => known.indexOf(id) !== i)
    .map((id) => `${id} stands twice in requirements.json`);
  for (const test of tests) {
    for (const id of idsIn(test.title)) {
      if (!known.includes(id)) problems.push(`${test.file}: "${test.title}" names [${id}], which is no requirement`);
    }
  }
  const table = (rows: readonly Requirement[]): string => rows.map((row) => renderRow(row, tests)).join('\n');
  const page = `<!-- Made by npm run fix from docs/requirements.json and the titles of the tests. Do not edit. -->

# Requirements and their proof

Each row names what is promised, the tests that prove it, and a command to see for yourself. A test belongs to a row when
its title carries the row's id in brackets. Rows without a test say so, and rows of which only a part is there say which.

| id | promise | proof | see it |
|---|---|---|---|
${table(data.requirements)}

## Tricky behaviours

What retry code usually gets wrong, and where it is shown that this one does not.

| id | behaviour | proof | see it |
|---|---|---|---|
${table(data.tricky)}
`;
  return { page, problems };
}

function renderRow(row: Requirement, tests: readonly ListedTest[]): string {
  const proof = tests.filter((test) => idsIn(test.title).includes(row.id));
  const title = row.doc === undefined ? row.title : `[${row.title}](${row.doc})`;
  if (proof.length === 0) return `| ${row.id} | ${title} | not yet | |`;
  const cells = [...new Set(proof.map((test) => test.file))].map((file) => {
    const found = proof.filter((test) => test.file === file);
    const titles = found.map((test) => `· ${escapeCell(withoutIds(test.title))}`);
    return [`[${file}](../${file})`, ...titles].join('<br>');
  });
  const command = row.command ?? `npm test -- -t '\\[${row.id.replace('.', '\\.')}\\]'`;
  const proven = row.partly === undefined ? cells : [`**partly:** ${row.partly}`, ...cells];
  return `| ${row.id} | ${title} | ${proven.join('<br>')} | \`${command}\` |`;
}

// Anything of this form is taken for an id, so that a misspelt one is noticed.
const ID = /\s*\[([A-Z]\d*\.\d+[a-z]?)\]/g;

function idsIn(title: string): string[] {
  return [...title.matchAll(ID)].map((match) => match[1] ?? '');
}

function withoutIds(title: string): string {
  return title.replaceAll(ID, '');
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('\n', ' ');
}

if (isMain(import.meta.url)) {
  const data = JSON.parse(readFileSync(DATA, 'utf8')) as Requirements;
  const { page, problems } = renderRequirements(data, listTests(ROOT));
  for (const problem of problems) console.error(problem);
  const isStale = readIfThere(PAGE) !== page;
  if (!process.argv.includes('--check')) writeFileSync(PAGE, page);
  else if (isStale) console.error('docs/requirements.md is not what the tests say; run npm run fix.');
  process.exitCode = problems.length > 0 || (isStale && process.argv.includes('--check')) ? 1 : 0;
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
