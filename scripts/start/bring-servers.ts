import { isListening, type RunningServer, startPrivate } from '../../test/support/private-server.ts';
import type { TestRun } from '../../test/support/service.ts';
import { SERVICES, type ServiceName } from '../../test/support/services/index.ts';

/** Variables of the environment, and which server is brought where one is not set. */
export type BroughtServers = Readonly<Record<string, ServiceName>>;

/** A server that can neither be found nor started; the message says what can be done. */
export class NoServerError extends Error {}

/** Servers for one run of a program. */
export interface Servers {
  /** What to set: a URL for each variable. */
  readonly env: Readonly<Record<string, string>>;
  /** Stops those that were started here; their folders are removed. */
  readonly stop: () => Promise<void>;
}

/**
 * Finds or starts the servers whose variables are not set, in the same way as the tests do. What is started here is private to this run:
 * its data is in a temporary folder, and it ends with this process, however that ends. What is installed system-wide is announced before.
 */
export async function bringServers(
  wanted: BroughtServers,
  given: NodeJS.ProcessEnv,
  announce: (line: string) => void,
): Promise<Servers> {
  const running: RunningServer[] = [];
  const run: TestRun = {
    env: given,
    announce,
    start: async (server) => {
      announce(`Starting ${server.name} …`);
      running.push(await startPrivate(server));
    },
  };
  const stop = async (): Promise<void> => void (await Promise.all(running.splice(0).map((one) => one.stop())));
  const missing = Object.entries(wanted).filter(([variable]) => !given[variable]);
  const found = await Promise.allSettled(missing.map(([variable, name]) => obtain(variable, name, run)));
  const problems = found.flatMap((one) => (one.status === 'rejected' ? [(one.reason as Error).message] : []));
  if (problems.length > 0) {
    await stop();
    throw new NoServerError(problems.join('\n'));
  }
  return {
    env: Object.fromEntries(found.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))),
    stop,
  };
}

/** Installs `redis-server` where REDIS_URL is not set, none listens and the program is missing. Where it cannot, the example says what to do. */
export async function bringRedisProgram(given: NodeJS.ProcessEnv, announce: (line: string) => void): Promise<void> {
  if (given['REDIS_URL'] || (await isListening(6379))) return;
  await SERVICES.redisServer.obtain({ env: given, announce, start: startNothing }).catch(() => undefined);
}

function startNothing(): never {
  throw new Error('only its program is wanted');
}

async function obtain(variable: string, name: ServiceName, run: TestRun): Promise<readonly [string, string]> {
  const service = SERVICES[name];
  try {
    return [variable, await service.obtain(run)];
  } catch (error) {
    throw new Error(`${name}: ${(error as Error).message}; set ${variable}, or ${service.howTo}`, { cause: error });
  }
}
