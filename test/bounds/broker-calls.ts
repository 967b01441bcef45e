import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { event, holdfast, type RelayEvent, type Transport } from '../../src/index.ts';
import { kafka } from '../../src/kafka/index.ts';
import { nats } from '../../src/nats/index.ts';
import { rabbitmq } from '../../src/rabbitmq/index.ts';
import { redisStreams } from '../../src/redis/index.ts';
import { memoryStore } from '../../src/testing/index.ts';
import type { BoundedCall } from './bounded-call.ts';

const placed = event<number>('order.placed', { key: String });

interface Opened {
  readonly transport: Transport;
  end?(): unknown;
}

const OPEN: Readonly<Record<string, (port: number) => Promise<Opened>>> = {
  'redisStreams() with ioredis': async (port) => {
    const client = new Redis({ host: '127.0.0.1', port, maxRetriesPerRequest: null });
    client.on('error', () => undefined);
    return { transport: redisStreams({ client }), end: () => client.disconnect() };
  },
  'redisStreams() with node-redis': async (port) => {
    const client = createClient({ url: `redis://127.0.0.1:${port}` });
    client.on('error', () => undefined);
    client.connect().catch(() => undefined);
    return { transport: redisStreams({ client }), end: () => client.destroy() };
  },
  'rabbitmq()': async (port) => ({ transport: rabbitmq({ url: `amqp://guest:guest@127.0.0.1:${port}` }) }),
  'nats()': async (port) => ({ transport: nats({ servers: `nats://127.0.0.1:${port}` }) }),
  'kafka()': async (port) => ({ transport: kafka({ brokers: [`127.0.0.1:${port}`] }) }),
};

/** Publishing to and consuming from each broker, as a service does both; then it stops. */
export const BROKER_CALLS: readonly BoundedCall[] = Object.entries(OPEN).map(([name, open]) => {
  let opened: Opened | undefined;
  return {
    call: name.split(' ')[0] ?? '',
    variant: name,
    ends: 'publish and consume: BROKER_TIMEOUT, then stopped',
    run: async ({ port }) => {
      opened = await open(port);
      const store = memoryStore();
      const hf = holdfast({ service: 'bounds', store, transport: opened.transport });
      hf.on(placed, 'book', async () => undefined);
      const failed = new Map<string, string>();
      const both = Promise.withResolvers<void>();
      const observe = (told: RelayEvent): void => {
        if (told.kind !== 'transport-failed') return;
        failed.set(told.during, (told.error as { code?: string }).code ?? String(told.error));
        if (failed.size === 2) both.resolve();
      };
      const running = await hf.start({ observers: [observe] });
      const tx = store.begin();
      await hf.send(tx, placed, 1);
      tx.commit();
      await both.promise;
      await running.stop({ drainMs: 0 });
      return `publish and consume: ${[...new Set(failed.values())].join(' · ')}, then stopped`;
    },
    end: () => opened?.end?.(),
  };
});
