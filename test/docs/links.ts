import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Anchors } from '../../scripts/docs/anchors.ts';

/** Links of the pages (paths relative to `root`) that lead to a file or a section that is not there. */
export function brokenLinks(root: string, pages: readonly string[]): string[] {
  const problems: string[] = [];
  for (const page of pages) {
    for (const [, target = ''] of withoutCode(readFileSync(join(root, page), 'utf8')).matchAll(
      /(?:\]\(|(?:src|srcset|href)=")([^)\s"]+)[)"]/g,
    )) {
      if (/^[a-z]+:/.test(target)) continue;
      const [path = '', section] = target.split('#');
      const file = path === '' ? page : join(dirname(page), path);
      if (!existsSync(join(root, file))) problems.push(`${page}: ${target} leads nowhere`);
      else if (section !== undefined && !sectionsOf(join(root, file)).includes(section)) {
        problems.push(`${page}: ${target} names a section that is not there`);
      }
    }
  }
  return problems;
}

/** The anchors that GitHub gives to the headings of a page. */
function sectionsOf(file: string): string[] {
  if (!statSync(file).isFile()) return [];
  const headings = [...withoutBlocks(readFileSync(file, 'utf8')).matchAll(/^#+ (.+)$/gm)];
  const anchors = new Anchors();
  return headings.map(([, heading = '']) => anchors.next(heading));
}

function withoutBlocks(markdown: string): string {
  return markdown.replaceAll(/^```[^]*?^```$/gm, '');
}

function withoutCode(markdown: string): string {
  return withoutBlocks(markdown).replaceAll(/`[^`\n]*`(?!\]\()/g, '');
}
