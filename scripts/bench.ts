import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { buildIfStale } from './build.ts';
import { ROOT } from './run-tool.ts';

const MAIN = join(ROOT, 'bench', 'main.ts');

const built = await buildIfStale();
if (!built.ok) {
  process.stderr.write(
    `${built.output}\nThe package did not build; mend the errors above, then run npm run bench again.\n`,
  );
  process.exit(1);
}
if (!existsSync(MAIN)) {
  console.error('There is no bench/main.ts to run.');
  process.exit(1);
}
// Its own process, so that the heap figures are those of the bench alone; --expose-gc lets it settle the heap first.
const run = spawnSync(process.execPath, ['--expose-gc', MAIN, ...process.argv.slice(2)], {
  stdio: 'inherit',
  cwd: ROOT,
});
process.exitCode = run.status ?? 1;
