import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildIfStale } from './build.ts';
import { ROOT } from './run-tool.ts';
import type { Servers } from './start/bring-servers.ts';
import { helpText, programLines } from './start/help.ts';
import { PROGRAMS, type Program, programOf } from './start/programs.ts';

const [part = PROGRAMS[0]?.name ?? '', ...rest] = process.argv.slice(2);
if (part === '--help' || part === '-h' || part === 'help') {
  process.stdout.write(helpText());
  process.exit(0);
}
const program = programOf(part);
if (program === undefined) {
  console.error(`There is no program "${part}". These can be started:\n\n${programLines()}`);
  process.exit(1);
}

const built = await buildIfStale();
if (!built.ok) {
  process.stderr.write(`${built.output}\nThe package did not build; fix the errors above, then run npm start again.\n`);
  process.exit(1);
}
const main = join(ROOT, 'examples', program.folder, program.file);
process.argv = [process.argv[0] ?? '', main, ...rest];
const servers = await serversOf(program);
ignoreEchoes('SIGINT');
ignoreEchoes('SIGTERM');
try {
  await import(pathToFileURL(main).href);
} finally {
  await servers?.stop();
}

/** Each server has a guard, which ends it when this process is gone. */
function leave(): never {
  process.exit(0);
}

function announce(line: string): void {
  console.log(line);
}

/** Sets what the program is told of its servers, bringing those that are not named. Ctrl-C in the meantime ends all of it. */
async function serversOf({ servers: wanted, keepsOwnRedis = false }: Program): Promise<Servers | undefined> {
  if (wanted === undefined && !keepsOwnRedis) return undefined;
  process.on('SIGINT', leave).on('SIGTERM', leave);
  const { bringRedisProgram, bringServers, NoServerError } = await import('./start/bring-servers.ts');
  try {
    if (keepsOwnRedis) await bringRedisProgram(process.env, announce);
    if (wanted === undefined) return undefined;
    const brought = await bringServers(wanted, process.env, announce);
    Object.assign(process.env, brought.env);
    return brought;
  } catch (error) {
    if (!(error instanceof NoServerError)) throw error;
    console.error(error.message);
    process.exit(1);
  } finally {
    process.off('SIGINT', leave).off('SIGTERM', leave);
  }
}

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
