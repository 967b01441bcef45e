import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildIfStale } from './build.ts';
import { ROOT } from './run-tool.ts';

const HELP = `A chat whose model provider fails on purpose, to see what a retry looks like.

  npm start                          the chat as a page; prints the address to open
  npm start -- terminal [options]    the same chat in a terminal, against one that runs; --help lists the options
  npm start -- --help                this text

  PORT=8080                   which port the page is on; without it 3000, or the next one that is free
  HOLDFAST_CHAT_SCALE=10      makes all waits ten times shorter
`;

const [part, ...rest] = process.argv.slice(2);
if (part === '--help' || part === '-h' || part === 'help') {
  process.stdout.write(HELP);
  process.exit(0);
}
if (part !== undefined && part !== 'terminal') {
  console.error(`npm start knows "terminal" and "--help"; "${part}" is neither.`);
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
