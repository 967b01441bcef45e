import { spawn } from 'node:child_process';
import { once } from 'node:events';
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
const run = spawn(process.execPath, ['--expose-gc', MAIN, ...process.argv.slice(2)], { stdio: 'inherit', cwd: ROOT });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    // A terminal sends Ctrl-C to the whole group, so the bench has it already.
    if (signal !== 'SIGINT' || !process.stdin.isTTY) run.kill(signal);
  });
}
// Its servers end by themselves when it is gone.
const [code] = (await once(run, 'close')) as [number | null];
process.exitCode = code ?? 130;
