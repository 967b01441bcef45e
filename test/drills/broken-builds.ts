import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** One text of one compiled file that is replaced by another. */
export interface BrokenBuild {
  readonly what: string;
  readonly file: string;
  readonly text: string;
  readonly instead: string;
}

/** The five faults that a system of this kind is most easily built with. */
export const BROKEN_BUILDS = {
  noFence: {
    what: 'without a fence',
    file: 'postgres/relay/commit.js',
    text: 'if (seqs.length < targets.length)',
    instead: 'if (false)',
  },
  ackBeforeEffect: {
    what: 'that completes before the effect',
    file: 'postgres/relay/commit.js',
    text: 'await effect(wrap(native));',
    instead: `await driver.transaction(limitMs(), (_, first) => first(finish, finishParams(workerId, targets)));
      await effect(wrap(native));
      isComplete = true;
      if (isComplete) return;`,
  },
  noInbox: {
    what: 'without an inbox',
    file: 'postgres/receive.js',
    text: 'seen.id = m.id and seen.times = 1)',
    instead: 'seen.id = m.id)',
  },
  cursorPastGap: {
    what: 'whose cursor goes past a gap',
    file: 'postgres/relay/read.js',
    text: `parts.late.push(decodeDelivery(row, 1, 'ready'));`,
    instead: '',
  },
  doubleReplay: {
    what: 'that replays what was done',
    file: 'postgres/operator/message-functions.js',
    text: 'where d.id = p_id and d.outcome = 0 and d.handler = any (v_closed)',
    instead: 'where false and d.handler = any (v_closed)',
  },
} satisfies Record<string, BrokenBuild>;

/** A copy of the built package with one fault, or none. Answers its program. It is gone when the test ends. */
export function buildWith(broken: BrokenBuild | undefined): string {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'holdfast-broken-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const dist = join(ROOT, 'dist');
  cpSync(dist, join(folder, 'dist'), {
    recursive: true,
    filter: (from) => !from.startsWith(join(dist, 'console')) && !/\.(?:map|d\.ts)$/.test(from),
  });
  cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  if (broken) replace(join(folder, 'dist', broken.file), broken);
  return join(folder, 'dist', 'cli', 'main.js');
}

/** A fault whose place is no longer there, or not the only one, would prove nothing. */
function replace(file: string, { text, instead }: BrokenBuild): void {
  const parts = readFileSync(file, 'utf8').split(text);
  if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} times ${JSON.stringify(text)}`);
  writeFileSync(file, parts.join(instead));
}
