import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { idempotency, layered, memoryIdempotency } from '../../src/idempotency/index.ts';
import { checkRedis, redisIdempotency, redisKeyLock, redisReplyCache } from '../../src/redis/index.ts';
import { type BoundedCall, endOf, type RealServers } from './bounded-call.ts';
import { type SilentPeer, silentWay } from './silent-peer.ts';

/** The application's client, and how it ends it whatever the server does. */
interface OwnRedis {
  readonly client: never;
  end(): void;
}

type RedisLibrary = 'ioredis' | 'node-redis';

function redisOf(library: RedisLibrary, port: number): OwnRedis {
  if (library === 'ioredis') {
    const client = new Redis({ host: '127.0.0.1', port, maxRetriesPerRequest: null });
    client.on('error', () => undefined);
    return { client: client as never, end: () => client.disconnect() };
  }
  const client = createClient({ url: `redis://127.0.0.1:${port}` });
  client.on('error', () => undefined);
  client.connect().catch(() => undefined);
  return { client: client as never, end: () => client.destroy() };
}

/** Every call to Redis, through both clients. Streams are with the brokers. */
export function redisCalls(servers: RealServers): readonly BoundedCall[] {
  return (['ioredis', 'node-redis'] as const).flatMap((library) => callsBy(library, servers));
}

function callsBy(library: RedisLibrary, servers: RealServers): readonly BoundedCall[] {
  const made = (call: string, ends: string, use: (client: never) => Promise<string>): BoundedCall => {
    let own: OwnRedis | undefined;
    return {
      call,
      ends,
      variant: library,
      run: ({ port }) => use((own = redisOf(library, port)).client),
      end: () => own?.end(),
    };
  };
  let [way, own]: [SilentPeer | undefined, OwnRedis | undefined] = [undefined, undefined];
  const warm: BoundedCall = {
    call: 'redisIdempotency()',
    variant: `${library}, after it has answered`,
    ends: 'answered, then IDEMPOTENCY_STORE_DOWN',
    run: async () => {
      way = await silentWay(servers.redis);
      own = redisOf(library, way.port);
      const store = redisIdempotency({ client: own.client, prefix: `${servers.schema}:` });
      const guard = idempotency({ service: 'bounds', store, storeTimeoutMs: 3_000 });
      const first = await endOf(guard.once(`a-${library}`, async () => 1));
      way.fallSilent();
      return `${first}, then ${await endOf(guard.once(`b-${library}`, async () => 1))}`;
    },
    end: () => {
      own?.end();
      way?.close();
    },
  };
  return [
    made('redisIdempotency()', 'IDEMPOTENCY_STORE_DOWN', (client) => {
      const store = redisIdempotency({ client });
      return endOf(idempotency({ service: 'bounds', store, storeTimeoutMs: 200 }).once('key', async () => 1));
    }),
    warm,
    made('redisReplyCache()', 'answered', (client) => {
      const store = layered({ cache: redisReplyCache({ client }), truth: memoryIdempotency(), cacheTimeoutMs: 100 });
      return endOf(idempotency({ service: 'bounds', store }).once('key', async () => 1));
    }),
    made('redisKeyLock().hold', 'BROKER_TIMEOUT', (client) => endOf(redisKeyLock({ client }).hold(['key']))),
    made('checkRedis', 'IDEMPOTENCY_STORE_TIMEOUT', (client) => endOf(checkRedis({ client }))),
  ];
}
