import { Redis } from 'ioredis';
import { findServer, onPath } from '../find-server.ts';
import type { Service } from '../service.ts';

/** Redis. Each test file owns the keys that start with its namespace and `:`. */
export const redis: Service = {
  howTo: 'start a Redis on port 6379, or set HOLDFAST_REDIS_URL (docker compose up -d redis does)',
  obtain: (run) =>
    findServer(run, {
      name: 'redis',
      variable: 'HOLDFAST_REDIS_URL',
      port: 6379,
      localUrls: ['redis://127.0.0.1:6379'],
      probe,
      compose: { service: 'redis', portVariable: 'HOLDFAST_REDIS_PORT', url: localUrl },
      own: {
        findProgram: () => onPath('redis-server'),
        install: 'redis-server',
        plan: (program, folder, port) => ({ server: [program, ...options(folder, port)] }),
        url: localUrl,
      },
    }),
  clean: (url, namespace) =>
    connected(url, async (client) => {
      for await (const keys of client.scanStream({ match: `${namespace}:*`, count: 1000 })) {
        if ((keys as string[]).length > 0) await client.unlink(...(keys as string[]));
      }
    }),
};

function options(folder: string, port: number): string[] {
  const durable = ['--appendonly', 'yes', '--appendfsync', 'everysec', '--save', ''];
  return ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, ...durable];
}

function localUrl(port: number): string {
  return `redis://127.0.0.1:${port}`;
}

function probe(url: string): Promise<void> {
  return connected(url, async (client) => {
    await client.ping();
  });
}

async function connected<T>(url: string, use: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(url, { lazyConnect: true, connectTimeout: 2000, retryStrategy: () => null });
  // The failure reaches us through connect(); without a listener ioredis prints it as well.
  client.on('error', () => {});
  try {
    await client.connect();
    return await use(client);
  } finally {
    client.disconnect();
  }
}
