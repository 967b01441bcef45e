import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { runningServer } from '../../src/embedded/postmaster-file.ts';

/**
 * Where an embedded server may keep its data, below a folder that nobody but its owner may enter. All of it goes when the test
 * has ended and no server is on it any more: one whose process was killed takes a moment to end.
 */
export function dataFolder(): string {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'holdfast-data-'));
  const data = join(folder, 'data');
  onTestFinished(async () => {
    await expect.poll(() => runningServer(join(data, 'postgres'))).toBe(undefined);
    rmSync(folder, { recursive: true, force: true });
  });
  return data;
}
