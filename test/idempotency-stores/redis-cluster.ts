import { Cluster, Redis } from 'ioredis';
import { createCluster } from 'redis';
import { expect, onTestFinished } from 'vitest';
import type { RedisClient } from '../../src/redis/index.ts';
import { freePort } from '../support/private-server.ts';
import { privateRedis } from './private-redis.ts';

const SLOTS = 16_384;
const SERVERS = 3;

/** Three servers that share all slots. Answers their ports. They end with the test. */
export async function startCluster(program: string): Promise<readonly number[]> {
  const servers = await Promise.all(
    Array.from({ length: SERVERS }, async () =>
      privateRedis(program, '--cluster-enabled', 'yes', '--cluster-port', String(await freePort())),
    ),
  );
  const nodes = servers.map(({ url }) => new Redis(url));
  const [first] = nodes;
  for (const [n, node] of nodes.entries()) {
    const [from, to] = [Math.ceil((n * SLOTS) / SERVERS), Math.ceil(((n + 1) * SLOTS) / SERVERS) - 1];
    await node.call('CLUSTER', 'ADDSLOTSRANGE', from, to);
    const bus = await node.config('GET', 'cluster-port');
    await first?.call('CLUSTER', 'MEET', '127.0.0.1', servers[n]?.port ?? 0, bus[1] ?? '');
  }
  const states = (): Promise<string[]> => Promise.all(nodes.map((node) => node.cluster('INFO')));
  await expect
    .poll(
      async () => (await states()).filter((info) => /cluster_state:ok/.test(info) && /known_nodes:3/.test(info)).length,
    )
    .toBe(SERVERS);
  for (const node of nodes) node.disconnect();
  return servers.map(({ port }) => port);
}

export type OpenCluster = (ports: readonly number[]) => Promise<RedisClient>;

/** Both libraries, by name. What they open ends with the test. */
export const CLUSTER_CLIENTS: readonly (readonly [name: string, open: OpenCluster])[] = [
  [
    'ioredis',
    async (ports) => {
      const cluster = new Cluster(ports.map((port) => ({ host: '127.0.0.1', port })));
      onTestFinished(() => cluster.disconnect());
      return cluster;
    },
  ],
  [
    'node-redis',
    async (ports) => {
      const cluster = createCluster({ rootNodes: ports.map((port) => ({ url: `redis://127.0.0.1:${port}` })) });
      cluster.on('error', () => {});
      await cluster.connect();
      onTestFinished(() => cluster.destroy());
      return cluster;
    },
  ],
];
