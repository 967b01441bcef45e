import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { runProgram } from '../../scripts/run-tool.ts';
import { cacheFolder, renameUnlessThere } from './program-cache.ts';

/** The program of another Node than the one that runs, brought by npm once and kept. */
export async function olderNode(version: string): Promise<string> {
  const platform = `${process.platform}-${process.arch}`;
  const home = join(cacheFolder(), `node-${version}-${platform}`);
  const node = join(home, 'node_modules', `node-${platform}`, 'bin', 'node');
  if (existsSync(node)) return node;
  mkdirSync(cacheFolder(), { recursive: true });
  const fetching = mkdtempSync(join(cacheFolder(), 'fetching-'));
  try {
    const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-save', '--loglevel=error'];
    const install = ['npm', 'install', ...options, '--prefix', fetching, `node-${platform}@${version}`];
    const done = await runProgram(install, { cwd: fetching });
    if (!done.ok) throw new Error(`Node ${version} could not be brought: ${done.output}`);
    renameUnlessThere(fetching, home);
  } finally {
    rmSync(fetching, { recursive: true, force: true });
  }
  return node;
}
