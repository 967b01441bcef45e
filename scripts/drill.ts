// npm run drill -- <name> | --all: the drills of the growth backend, from a fresh clone. What holdfast drill takes, this takes. A broker that is
// named by --via alone is found or started, as the tests do, and so is the program of the Redis that load starts.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { startPrivate } from '../test/support/private-server.ts';
import { SERVICES } from '../test/support/services/index.ts';
import { buildIfStale } from './build.ts';
import { ROOT } from './run-tool.ts';

const built = await buildIfStale();
if (!built.ok) {
  process.stderr.write(`${built.output}\nThe package did not build; mend the errors above, then say it again.\n`);
  process.exit(1);
}
const MAIN = join(ROOT, 'dist', 'cli', 'main.js');
const config = ['--config', join(ROOT, 'examples', 'growth-backend', 'drills.config.ts')];
const given = process.argv.slice(2);
process.argv = [process.argv[0] ?? '', MAIN, 'drill', ...config, ...given, ...(await servers(given))];
await import(pathToFileURL(MAIN).href);

/** Further options: the broker, where only its kind is given. Servers that were started end with this process. */
async function servers(args: readonly string[]): Promise<readonly string[]> {
  const run = {
    env: process.env,
    announce: (line: string) => void process.stderr.write(`${line}\n`),
    start: async (server: Parameters<typeof startPrivate>[0]) => void (await startPrivate(server)),
  };
  if (args.includes('load') && valueOf(args, 'redis') === undefined) await SERVICES.redisServer.obtain(run);
  const kind = (['redis', 'rabbitmq', 'kafka', 'nats'] as const).find((one) => one === valueOf(args, 'via'));
  if (kind === undefined || valueOf(args, 'broker') !== undefined) return [];
  return ['--broker', await SERVICES[kind].obtain(run)];
}

/** `--via kafka` or `--via=kafka`. */
function valueOf(args: readonly string[], name: string): string | undefined {
  const at = args.findIndex((one) => one === `--${name}` || one.startsWith(`--${name}=`));
  const [, joined] = args[at]?.split('=') ?? [];
  return joined ?? (at < 0 ? undefined : args[at + 1]);
}
