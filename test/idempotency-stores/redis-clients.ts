import { Redis, type RedisOptions } from 'ioredis';
import { createClient } from 'redis';
import { onTestFinished } from 'vitest';
import type { RedisClient } from '../../src/redis/index.ts';

/** A client of either library, and a way to send any command. */
export interface OpenClient {
  readonly client: RedisClient;
  send(...command: string[]): Promise<unknown>;
  /** Whether it has a connection, as far as it knows. */
  isReady(): boolean;
}

type IoredisSettings = Pick<RedisOptions, 'commandTimeout' | 'enableReadyCheck' | 'keyPrefix'>;

export type OpenRedis = (url: string) => Promise<OpenClient>;

/** ioredis as it comes, but that it connects again without waiting. Ends with the test. */
export async function openIoredis(url: string, options: IoredisSettings = {}): Promise<OpenClient> {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => 20, ...options });
  // Tests stop servers on purpose.
  client.on('error', () => {});
  onTestFinished(() => client.disconnect());
  await client.connect();
  return { client, send: (name = '', ...rest) => client.call(name, ...rest), isReady: () => client.status === 'ready' };
}

/** node-redis as it comes, but that it connects again without waiting. Ends with the test. */
async function openNodeRedis(url: string): Promise<OpenClient> {
  const client = createClient({ url, socket: { reconnectStrategy: () => 20 } });
  client.on('error', () => {});
  onTestFinished(() => client.destroy());
  await client.connect();
  return { client, send: (...command) => client.sendCommand(command), isReady: () => client.isReady };
}

/** Both libraries, by name. */
export const REDIS_CLIENTS: readonly (readonly [name: string, open: OpenRedis])[] = [
  ['ioredis', openIoredis],
  ['node-redis', openNodeRedis],
];
