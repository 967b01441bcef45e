import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../scripts/run-tool.ts';
import { renderClaims } from './claims.ts';
import { machineLine, QUICK_LINE } from './facts.ts';
import { renderTopic } from './render-markdown.ts';
import { replaceSections } from './replace-sections.ts';
import type { Report } from './report.ts';

/** The report that README.md and docs/bench.md are made from. */
export const COMMITTED = 'docs/reports/bench.json';
/** The pages with sections that are made from it. */
export const PAGES = ['README.md', 'docs/bench.md'];

/** What stands in the sections of the pages, by name. */
export function sectionsOf(report: Report): ReadonlyMap<string, string> {
  const machine = `${report.isQuick ? `**${QUICK_LINE}** ` : ''}\`${report.command}\` on ${machineLine(report)}.`;
  return new Map([
    ['claims', renderClaims(report)],
    ['machine', machine],
    ...report.topics.map((topic) => [topic.name, renderTopic(topic, report.isQuick)] as const),
  ]);
}

const RATIO =
  /\d[\d.]* ?×|\d[\d.]* ?% (?:faster|slower|quicker)|\d[\d.]* times as (?:fast|slow)|\d+\.\d+ times|\d+ % of|(?:twice|half again|half)\s+as (?:fast|slow)/g;

/** What reads like a claim about speed and stands outside the sections of a page. */
export function ratiosOutside(page: string): string[] {
  const rest = page.replaceAll(/<!-- bench [^]*?<!-- \/bench -->/g, '');
  return [...rest.matchAll(RATIO)].map(([found]) => found);
}

/** `npm run bench -- render`: writes the sections of the pages anew. Gives the exit code. */
export function renderPages(say: (line: string) => void): number {
  const file = join(ROOT, COMMITTED);
  if (!existsSync(file)) {
    say(`There is no ${COMMITTED}; make it with npm run bench -- --report docs/reports`);
    return 2;
  }
  const sections = sectionsOf(JSON.parse(readFileSync(file, 'utf8')) as Report);
  for (const page of PAGES) {
    const path = join(ROOT, page);
    const before = readFileSync(path, 'utf8');
    const after = replaceSections(before, sections);
    if (after !== before) writeFileSync(path, after);
    say(`${page}: ${after === before ? 'as it was' : 'written anew'}`);
  }
  return 0;
}
