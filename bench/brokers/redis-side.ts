import { Redis } from 'ioredis';
import { redisStreams } from 'holdfast/redis';
import { redisVersion } from '../redis-version.ts';
import { attributesOf, BATCH, type BareMessage, type Side, TOPIC } from './side.ts';

const GROUP = 'bare';
const READ = ['XREADGROUP', 'GROUP', GROUP, 'one', 'COUNT', String(BATCH), 'BLOCK', '100', 'STREAMS'] as const;

type Entries = readonly (readonly [id: string, fields: readonly string[]])[];

/** Redis Streams through ioredis: a batch is a pipeline, and the answer to each XADD is its confirm. */
export async function redisSide(url: string): Promise<Side> {
  const client = new Redis(url);
  const version = await redisVersion(url);
  return {
    title: 'Redis Streams',
    version,
    prepare: async () => undefined,
    transport: (prefix) => redisStreams({ client, prefix }),
    publisher: async (prefix) => {
      const own = client.duplicate();
      return {
        publish: async (messages) => {
          const pipeline = own.pipeline();
          for (const message of messages) pipeline.xadd(`${prefix}${TOPIC}`, '*', ...fieldsOf(message));
          for (const [error] of (await pipeline.exec()) ?? []) if (error) throw error;
        },
        close: async () => own.disconnect(),
      };
    },
    consumer: async (prefix, onBatch) => {
      const stream = `${prefix}${TOPIC}`;
      const [reading, acting] = [client.duplicate(), client.duplicate()];
      await acting.xgroup('CREATE', stream, GROUP, '0', 'MKSTREAM');
      let isStopped = false;
      const read = async (): Promise<void> => {
        while (!isStopped) {
          // A pair in a list with RESP2, a list of names and values in turns with RESP3.
          const answer = (await reading.call(...READ, stream, '>')) as [[string, Entries]] | [string, Entries] | null;
          const entries = Array.isArray(answer?.[0]) ? answer[0][1] : answer?.[1];
          if (entries === undefined || entries.length === 0) continue;
          await onBatch(entries.map(([, fields]) => messageOf(fields)));
          await acting.xack(stream, GROUP, ...entries.map(([id]) => id));
        }
      };
      const running = read();
      return {
        stop: async () => {
          isStopped = true;
          await running;
          reading.disconnect();
          acting.disconnect();
        },
      };
    },
    count: (prefix) => client.xlen(`${prefix}${TOPIC}`),
    drop: async (prefix) => void (await client.unlink(`${prefix}${TOPIC}`)),
    close: async () => client.disconnect(),
  };
}

function fieldsOf(message: BareMessage): string[] {
  const fields = ['key', message.key, 'data', message.payload, 'ce_datacontenttype', 'application/json'];
  for (const [name, value] of Object.entries(attributesOf(message))) fields.push(`ce_${name}`, value);
  return fields;
}

function messageOf(fields: readonly string[]): BareMessage {
  const valueOf = (name: string): string => fields[fields.indexOf(name) + 1] ?? '';
  return { id: valueOf('ce_id'), key: valueOf('key'), payload: valueOf('data') };
}
