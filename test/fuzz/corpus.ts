import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

function fileOf(target: string): string {
  return fileURLToPath(new URL(`corpus/${target}.json`, import.meta.url));
}

/** What earlier runs found worth keeping: inputs that reach what no other does, and those that once went wrong. */
export function readCorpus(target: string): readonly string[] {
  const file = fileOf(target);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as string[]) : [];
}

/** Adds to it. Halves of surrogate pairs are written as escapes, so that the file is text. */
export function keepInCorpus(target: string, inputs: readonly string[]): void {
  const all = [...new Set([...readCorpus(target), ...inputs])];
  writeFileSync(fileOf(target), `${JSON.stringify(all, undefined, 2)}\n`);
}
