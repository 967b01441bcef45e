import type { Transport } from 'holdfast';

/** Which broker, and where. */
export interface StormBroker {
  readonly kind: 'redis';
  readonly port: number;
}

/** The transport of a member. Each kind is loaded only where it is used. */
export async function openTransport({ port }: StormBroker): Promise<Transport> {
  const [{ redisStreams }, { Redis }] = await Promise.all([import('holdfast/redis'), import('ioredis')]);
  const client = new Redis({ host: '127.0.0.1', port, retryStrategy: () => 50, maxRetriesPerRequest: null });
  client.on('error', () => undefined);
  return redisStreams({ client });
}
