import { Redis } from 'ioredis';

/** What the server says of itself. */
export async function redisVersion(url: string): Promise<string> {
  const client = new Redis(url);
  try {
    return /redis_version:(\S+)/.exec(await client.info('server'))?.[1] ?? 'unknown';
  } finally {
    client.disconnect();
  }
}
