import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { runProgram } from '../../../scripts/run-tool.ts';
import { cacheFolder, renameUnlessThere } from '../program-cache.ts';
import type { Service, TestRun } from '../service.ts';

const VERSION = '7.0.4';

/** The process manager pm2, from npm. Its "URL" is the path of its program, to be run by Node. */
export const pm2: Service = {
  howTo: `let npm reach a registry that has pm2@${VERSION}`,
  obtain: async (run) => {
    const folder = join(cacheFolder(), `pm2-${VERSION}`);
    if (!existsSync(folder)) await fetchInto(run, folder);
    return join(folder, 'node_modules', 'pm2', 'bin', 'pm2');
  },
};

async function fetchInto(run: TestRun, folder: string): Promise<void> {
  const cache = cacheFolder();
  run.announce(`Fetching pm2@${VERSION} into ${cache} with npm; tests need it …`);
  mkdirSync(cache, { recursive: true });
  const fetching = mkdtempSync(join(cache, 'fetching-'));
  try {
    const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-save', '--loglevel=error'];
    const install = ['npm', 'install', ...options, '--prefix', fetching, `pm2@${VERSION}`];
    const done = await runProgram(install, { cwd: fetching });
    if (!done.ok) throw new Error(`npm could not install it: ${done.output}`);
    renameUnlessThere(fetching, folder);
  } finally {
    rmSync(fetching, { recursive: true, force: true });
  }
}
