import { Redis } from 'ioredis';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { freePort, freshFolder, isListening, startPrivate } from '../support/private-server.ts';

/** A Redis of one test, which it may kill, hang and start again. Every write is on disk before it is answered. */
export interface PrivateRedis {
  readonly url: string;
  readonly port: number;
  /** Ends it at once, as a crash does. */
  kill(): Promise<void>;
  /** Starts it again, on the same port and with what it had written. */
  start(): Promise<void>;
  /** It accepts connections and answers nothing, until it goes on. */
  hang(): void;
  goOn(): void;
}

/** Starts one from the program of `needs('redisServer')`, with more settings (`--maxmemory`, `2mb`, …). It ends with the test. */
export async function privateRedis(program: string, ...settings: string[]): Promise<PrivateRedis> {
  const port = await freePort();
  const data = mkdtempSync(join(realpathSync(tmpdir()), 'holdfast-redis-data-'));
  const durable = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', ''];
  const place = ['--port', String(port), '--bind', '127.0.0.1', '--dir', data];
  const start = (): Promise<RunningRedis> => startRedis([program, ...place, ...durable, ...settings], port);
  let running = await start();
  onTestFinished(async () => {
    await running.stop();
    rmSync(data, { recursive: true, force: true });
  });
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    async kill() {
      running.signal('SIGKILL');
      await running.stop();
    },
    async start() {
      running = await start();
    },
    hang: () => running.signal('SIGSTOP'),
    goOn: () => running.signal('SIGCONT'),
  };
}

interface RunningRedis {
  signal(name: NodeJS.Signals): void;
  /** May be called twice. */
  stop(): Promise<void>;
}

async function startRedis(server: readonly [string, ...string[]], port: number): Promise<RunningRedis> {
  let pid = 0;
  const probe = async (): Promise<void> => void (pid = await pidOf(port));
  const running = await startPrivate({ name: 'redis of a test', folder: freshFolder('private-redis'), server, probe });
  const signal = (name: NodeJS.Signals): void => {
    try {
      process.kill(pid, name);
    } catch {
      // It has ended already.
    }
  };
  return {
    signal,
    stop: async () => {
      // One that hangs does not hear that it is to end.
      signal('SIGCONT');
      await running.stop();
    },
  };
}

/** Rejects while the server does not answer, and while it reads what it had written. */
async function pidOf(port: number): Promise<number> {
  if (!(await isListening(port))) throw new Error('nobody listens');
  const client = new Redis({ port, lazyConnect: true, connectTimeout: 2000, retryStrategy: () => null });
  client.on('error', () => {});
  try {
    await client.connect();
    return Number(/process_id:(\d+)/.exec(await client.info('server'))?.[1]);
  } finally {
    client.disconnect();
  }
}
