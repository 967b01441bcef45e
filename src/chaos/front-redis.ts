import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSleep } from '../kernel/sleep.ts';
import { systemEffects } from '../system/effects.ts';
import { within } from '../transport/within.ts';
import { type DrillRedis, openRedis, type RedisWay } from './broker-way.ts';
import type { FrontSettings } from './settings.ts';

/** The Redis that stores the replies of the front first. It may lose anything at any time: the database has the truth. */
export interface FrontRedis {
  readonly way: RedisWay;
  readonly about: string;
  /** Removes what the drill stored there; everything where the server is the drill's own. Gives how many keys there were. */
  flush(): Promise<number>;
  /** Kills it and starts it again, empty. Only where the drill has started it. */
  readonly crash: (() => Promise<void>) | undefined;
  remove(): Promise<void>;
}

const READY_WITHIN_MS = 10_000;
const LOOK_EVERY_MS = 20;
const SCANNED = 1_000;
const FIRST_PORT = 20_000;
const PORTS = 12_000;

const sleep = createSleep(systemEffects);

/** Opens it: the one that is given, or one that is started for the drill. `prefix` is of the keys of the drill. */
export async function openFrontRedis({ redis, ioredis }: FrontSettings, prefix: string): Promise<FrontRedis> {
  const own = redis ? undefined : await startRedis();
  const way = redis ?? { url: `redis://127.0.0.1:${own?.port ?? 0}`, ioredis };
  const { client } = await openRedis(way);
  let version: string;
  try {
    await ready(client);
    version = /redis_version:(\S+)/.exec(await client.info('server'))?.[1] ?? '';
  } catch (error) {
    void client.disconnect();
    await own?.remove();
    throw error;
  }
  const flush = (): Promise<number> => removeKeys(client, `${prefix}*`);
  return {
    way,
    about: `${version}, ${own ? 'started by the drill' : 'given'}`,
    flush,
    crash: own && (() => own.crash()),
    remove: async () => {
      // A Redis that is away by now forgets the keys by itself, in a day.
      if (!own) await within(systemEffects, flush()).catch(() => undefined);
      void client.disconnect();
      await own?.remove();
    },
  };
}

async function ready(client: DrillRedis): Promise<void> {
  const endMs = systemEffects.monoMs() + READY_WITHIN_MS;
  while (client.status !== 'ready') {
    if (systemEffects.monoMs() > endMs) throw new Error('Redis cannot be reached');
    await sleep(LOOK_EVERY_MS);
  }
}

async function removeKeys(client: DrillRedis, pattern: string): Promise<number> {
  let removed = 0;
  let cursor = '0';
  do {
    const [next, keys] = await client.scan(cursor, 'MATCH', pattern, 'COUNT', SCANNED);
    if (keys.length > 0) removed += Number(await client.del(...keys));
    cursor = next;
  } while (cursor !== '0');
  return removed;
}

interface OwnRedis {
  readonly port: number;
  crash(): Promise<void>;
  remove(): Promise<void>;
}

/** Keeps nothing on disk: what a crash takes is gone, which a cache may do. */
async function startRedis(): Promise<OwnRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-drill-redis-'));
  const port = await freePort();
  const start = (): ChildProcess => {
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no'];
    const child = spawn('redis-server', args, { stdio: 'ignore', detached: true });
    child.on('error', () => undefined);
    return child;
  };
  let child = start();
  const stop = (): void => void child.kill('SIGKILL');
  process.once('exit', stop);
  const end = async (): Promise<void> => {
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()).once('error', () => resolve()));
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
    child.kill('SIGKILL');
    await ended;
  };
  return {
    port,
    crash: async () => {
      await end();
      child = start();
    },
    remove: async () => {
      await end();
      process.off('exit', stop);
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Outside the range from which the system gives ports to clients: one of them could take it while Redis is down. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(systemEffects.random() * PORTS);
    if (await canListen(port)) return port;
  }
}

function canListen(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
