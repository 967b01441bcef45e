import type { RedisClient } from '../redis/redis-client.ts';
import { importPackage } from './import-package.ts';

/** A client of Redis that has not connected yet. */
export interface RedisDriver {
  readonly name: 'ioredis' | 'node-redis';
  readonly client: RedisClient;
  connect(): Promise<unknown>;
  /** At once, whatever is under way. */
  close(): void;
}

/** Opens a Redis with ioredis, or with node-redis where only that is installed; nothing where neither is. */
export async function openRedis(url: string, cwd: string, connectMs: number): Promise<RedisDriver | undefined> {
  const ioredis = (await importPackage('ioredis', cwd)) as IoredisModule | undefined;
  if (ioredis !== undefined) return ioredisDriver(ioredis, url, connectMs);
  const redis = (await importPackage('redis', cwd)) as NodeRedisModule | undefined;
  return redis && nodeRedisDriver(redis, url, connectMs);
}

type Ioredis = RedisClient & {
  connect(): Promise<unknown>;
  disconnect(): void;
  on(event: 'error', heard: (error: Error) => void): unknown;
};

interface IoredisModule {
  readonly Redis?: new (url: string, options: object) => Ioredis;
  readonly default?: new (url: string, options: object) => Ioredis;
}

function ioredisDriver(module: IoredisModule, url: string, connectTimeout: number): RedisDriver | undefined {
  const Redis = module.Redis ?? module.default;
  if (Redis === undefined) return undefined;
  const options = { lazyConnect: true, connectTimeout, maxRetriesPerRequest: 0, retryStrategy: () => null };
  const client = new Redis(url, options);
  // What it rejects with is that its connection is closed; why is told here.
  let cause: Error | undefined;
  client.on('error', (error) => (cause = error));
  return {
    name: 'ioredis',
    client,
    connect: () => client.connect().catch((error: unknown) => Promise.reject(cause ?? error)),
    close: () => client.disconnect(),
  };
}

type NodeRedis = RedisClient & {
  connect(): Promise<unknown>;
  on(event: 'error', heard: () => void): unknown;
  /** Since version 5; `disconnect` before. */
  destroy?(): void;
  disconnect?(): Promise<void>;
};

interface NodeRedisModule {
  createClient(options: object): NodeRedis;
}

function nodeRedisDriver(module: NodeRedisModule, url: string, connectTimeout: number): RedisDriver {
  const client = module.createClient({ url, socket: { reconnectStrategy: false, connectTimeout } });
  client.on('error', () => undefined);
  return {
    name: 'node-redis',
    client,
    connect: () => client.connect(),
    close: () => {
      if (client.destroy !== undefined) client.destroy();
      else client.disconnect?.().catch(() => undefined);
    },
  };
}
