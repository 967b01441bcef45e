import type { Transport } from 'holdfast';

/** Which broker, and the port of the way to it. */
export interface StormBroker {
  readonly kind: keyof typeof WAYS;
  readonly port: number;
}

// Each kind is loaded only where it is used.
const WAYS = {
  redis: async (port: number): Promise<Transport> => {
    const [{ redisStreams }, { Redis }] = await Promise.all([import('holdfast/redis'), import('ioredis')]);
    const client = new Redis({ host: '127.0.0.1', port, retryStrategy: () => 50, maxRetriesPerRequest: null });
    client.on('error', () => undefined);
    return redisStreams({ client });
  },
  rabbitmq: async (port: number): Promise<Transport> => {
    const { rabbitmq } = await import('holdfast/rabbitmq');
    return rabbitmq({ url: `amqp://guest:guest@127.0.0.1:${port}` });
  },
  nats: async (port: number): Promise<Transport> => {
    const { nats } = await import('holdfast/nats');
    return nats({ servers: `nats://127.0.0.1:${port}` });
  },
  kafka: async (port: number): Promise<Transport> => {
    const { kafka } = await import('holdfast/kafka');
    return kafka({ brokers: [`127.0.0.1:${port}`] });
  },
};

/** The transport of a member. */
export function openTransport({ kind, port }: StormBroker): Promise<Transport> {
  return WAYS[kind](port);
}
