import { Redis as UpstashRedis, type RedisConfigNodejs } from '@upstash/redis';
import { Redis, type RedisOptions } from 'ioredis';
import { createClient } from 'redis';
import { onTestFinished } from 'vitest';
import type { RedisClient } from '../../src/redis/index.ts';
import { startUpstashFront } from '../support/upstash-front.ts';

/** A client of one of the libraries, and a way to send any command. */
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

/** @upstash/redis as it comes, over HTTP to a front of ours before the server. Ends with the test. */
export async function openUpstash(url: string, options: Partial<RedisConfigNodejs> = {}): Promise<OpenClient> {
  const front = await startUpstashFront(url);
  onTestFinished(() => front[Symbol.asyncDispose]());
  const client = new UpstashRedis({ url: front.url, token: front.token, ...options });
  // By another client, as this one would read what looks like JSON.
  const beside = await openIoredis(url);
  // It has no connection of its own to lose.
  return { client, send: (...command) => beside.send(...command), isReady: () => true };
}

/** The libraries that hold a connection, by name. */
export const CONNECTED_CLIENTS: readonly (readonly [name: string, open: OpenRedis])[] = [
  ['ioredis', openIoredis],
  ['node-redis', openNodeRedis],
];

/** All libraries, by name. */
export const REDIS_CLIENTS: typeof CONNECTED_CLIENTS = [...CONNECTED_CLIENTS, ['@upstash/redis', openUpstash]];
