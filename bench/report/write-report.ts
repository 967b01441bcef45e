import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ROOT } from '../../scripts/run-tool.ts';
import { renderHtml } from './render-html.ts';
import { renderMarkdown } from './render-markdown.ts';
import type { Report } from './report.ts';

/** Writes bench.html, bench.json and bench.md into a folder, which is made. Answers their paths. */
export function writeReport(report: Report, folder: string): string[] {
  const target = resolve(ROOT, folder);
  mkdirSync(target, { recursive: true });
  // Page and data are made from the same digits.
  const data = JSON.stringify(report, sixDigits, 2);
  const told = JSON.parse(data) as Report;
  const files: readonly (readonly [name: string, text: string])[] = [
    ['bench.html', renderHtml(told)],
    ['bench.json', `${data}\n`],
    ['bench.md', renderMarkdown(told)],
  ];
  return files.map(([name, text]) => {
    const path = join(target, name);
    writeFileSync(path, text);
    return path;
  });
}

/** More are noise. */
function sixDigits(_key: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(6)) : value;
}
