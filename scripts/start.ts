import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildIfStale } from './build.ts';
import { ROOT } from './run-tool.ts';

// npm start                          the chat example: a page over an overloaded provider
// npm start -- terminal [options]    its terminal client, against a running one
const [part, ...rest] = process.argv.slice(2);
if (part !== undefined && part !== 'terminal') {
  console.error(`npm start knows "terminal" and nothing else; "${part}" is not that.`);
  process.exit(1);
}
const MAIN = join(ROOT, 'examples', 'agent-chat', part === 'terminal' ? 'terminal.ts' : 'main.ts');

const built = await buildIfStale();
if (!built.ok) {
  process.stderr.write(
    `${built.output}\nThe package did not build; mend the errors above, then run npm start again.\n`,
  );
  process.exit(1);
}
process.argv = [process.argv[0] ?? '', MAIN, ...rest];
ignoreEchoes('SIGINT');
ignoreEchoes('SIGTERM');
await import(pathToFileURL(MAIN).href);

/**
 * Lets a signal that comes twice at once count once: a terminal sends Ctrl-C to every process of the group, and npm hands
 * it on again. One that comes a second later means it, and ends the process.
 */
function ignoreEchoes(signal: 'SIGINT' | 'SIGTERM'): void {
  let first: number | undefined;
  process.on(signal, () => {
    first ??= performance.now();
    if (performance.now() - first > 1000) process.exit(130);
  });
}
