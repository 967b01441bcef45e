import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePorts } from './free-ports.ts';
import { reachRedis, reachServers, UnreachableError } from './reach-server.ts';

/** A Redis to work with. */
export interface FoundRedis {
  readonly url: string;
  /** What people are told about it. */
  readonly about: string;
  /** Ends it, if it was started here. */
  readonly stop: () => Promise<void>;
}

const USUAL = 'redis://127.0.0.1:6379';
const START_MS = 10_000;

/** The one that `REDIS_URL` names, else one at the usual port, else one of our own with its data in `dataDir`. */
export async function findRedis(given: string | undefined, dataDir: string): Promise<FoundRedis> {
  if (given) {
    await reachServers([{ server: 'Redis', variable: 'REDIS_URL', reach: () => reachRedis(given) }]);
    return { url: given, about: 'the one that REDIS_URL names', stop: leaveIt };
  }
  const isThere = await reachRedis(USUAL).then(
    () => true,
    () => false,
  );
  return isThere ? { url: USUAL, about: 'the one at its usual port', stop: leaveIt } : startRedis(dataDir);
}

async function startRedis(dataDir: string): Promise<FoundRedis> {
  mkdirSync(dataDir, { recursive: true });
  const port = await freePorts(6_380, 1);
  const url = `redis://127.0.0.1:${port}`;
  const options = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--dir',
    dataDir,
    '--appendonly',
    'yes',
    '--save',
    '',
  ];
  const child = spawn('redis-server', options, { stdio: 'ignore', detached: true });
  const ended = once(child, 'close').then(
    () => 'it ended',
    (error: NodeJS.ErrnoException) => error.code ?? error.message,
  );
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
  };
  // Should this process end in any other way, Redis must not stay.
  process.once('exit', () => child.kill('SIGKILL'));
  const deadline = performance.now() + START_MS;
  for (;;) {
    const problem = await Promise.race([reachRedis(url).then(nothingWrong, () => sleep(50, 'not yet')), ended]);
    if (problem === undefined) return { url, about: `one of our own, data in ${dataDir}`, stop };
    if (problem !== 'not yet' || performance.now() > deadline) {
      child.kill('SIGKILL');
      const advice = 'set REDIS_URL, install redis-server, or docker compose up -d redis';
      throw new UnreachableError(`there is no Redis (${problem}); ${advice}`);
    }
  }
}

const leaveIt = (): Promise<void> => Promise.resolve();
const nothingWrong = (): undefined => undefined;
