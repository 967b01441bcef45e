// npm run drill -- <name> | --all: the drills of the growth backend, from a fresh clone. What holdfast drill takes, this takes.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildIfStale } from './build.ts';
import { ROOT } from './run-tool.ts';

const built = await buildIfStale();
if (!built.ok) {
  process.stderr.write(`${built.output}\nThe package did not build; mend the errors above, then say it again.\n`);
  process.exit(1);
}
const MAIN = join(ROOT, 'dist', 'cli', 'main.js');
const config = ['--config', join(ROOT, 'examples', 'growth-backend', 'drills.config.ts')];
process.argv = [process.argv[0] ?? '', MAIN, 'drill', ...config, ...process.argv.slice(2)];
await import(pathToFileURL(MAIN).href);
