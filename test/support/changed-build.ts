import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** One text of one compiled file that is replaced by another. */
export interface BuildChange {
  readonly file: string;
  readonly text: string;
  readonly instead: string;
}

/** A copy of the built package with one change, or none. Answers its folder. It is gone when the test ends. */
export function changedBuild(change: BuildChange | undefined): string {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'holdfast-build-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const dist = join(ROOT, 'dist');
  cpSync(dist, join(folder, 'dist'), {
    recursive: true,
    filter: (from) => !from.startsWith(join(dist, 'console')) && !/\.(?:map|d\.ts)$/.test(from),
  });
  cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  if (change) replace(join(folder, 'dist', change.file), change);
  return folder;
}

/** A change whose place is no longer there, or not the only one, would prove nothing. */
function replace(file: string, { text, instead }: BuildChange): void {
  const parts = readFileSync(file, 'utf8').split(text);
  if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} times ${JSON.stringify(text)}`);
  writeFileSync(file, parts.join(instead));
}
