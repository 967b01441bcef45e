import { OptionCheck } from '../kernel/check-options.ts';
import type { ConsumeRequest, Consumption, Decode, OutboundMessage, Broker } from '../transport/broker.ts';
import { transportOf } from '../transport/transport-of.ts';
import type { Transport } from '../transport/transport.ts';
import { topicOfType } from '../transport/topic-of-type.ts';
import {
  findConnections,
  type OwnConnection,
  type RedisConnections,
  type RedisStreamClient,
} from './redis-commands.ts';
import { toFields } from './stream-entry.ts';
import { StreamReader } from './stream-reader.ts';

/** What `redisStreams` takes. Only the client must be there. */
export interface RedisStreamsOptions {
  /** A client of ioredis or node-redis. It stays the application's; connections of ours are made as it was made. */
  readonly client: RedisStreamClient;
  /** What tells it from other transports of a service. Default `redis`. */
  readonly name?: string | undefined;
  /** The stream of a type. Default: what stands before its last dot, `order` for `order.placed`. */
  readonly stream?: ((type: string) => string) | undefined;
  /** Stands before the names of streams. Default none. */
  readonly prefix?: string | undefined;
  /** Entries that all groups have acknowledged are taken away when they are this old, in milliseconds. Default: a day. */
  readonly keepMs?: number | undefined;
  readonly decode?: Decode | undefined;
}

const DAY_MS = 86_400_000;

/**
 * Redis Streams. A batch is one script, so what is in it is there wholly and in order. In each group one consumer at a time reads a
 * stream: it stores what it reads, which is quick, and all processes share the handling of what is stored.
 */
export function redisStreams(options: RedisStreamsOptions): Transport {
  return transportOf(redisStreamsBroker(options));
}

/** The broker of `redisStreams`. */
export function redisStreamsBroker(options: RedisStreamsOptions): Broker {
  const check = new OptionCheck('redisStreams()');
  check.known(options, ['client', 'name', 'stream', 'prefix', 'keepMs', 'decode']);
  const { client, name = 'redis', stream = topicOfType, prefix = '', keepMs = DAY_MS, decode } = options;
  const connections = findConnections(client);
  if (!connections) check.refuse('client', client, 'pass a client of ioredis or node-redis');
  check.number('keepMs', keepMs, { min: 0, max: Infinity, write: 'write milliseconds from 0, or Infinity' });
  check.done();
  const streamOf = (type: string, isDead: boolean): string => `${prefix}${stream(type)}${isDead ? '.dlq' : ''}`;
  return new RedisStreams({ connections: connections as RedisConnections, name, streamOf, keepMs, decode });
}

interface Parts {
  readonly connections: RedisConnections;
  readonly name: string;
  readonly streamOf: (type: string, isDead: boolean) => string;
  readonly keepMs: number;
  readonly decode: Decode | undefined;
}

// ARGV: for each message how many fields it has, then those.
const ADD_ALL = `local at = 1
while at <= #ARGV do
  local count = tonumber(ARGV[at])
  redis.call('XADD', KEYS[1], '*', unpack(ARGV, at + 1, at + count))
  at = at + count + 1
end
return at`;

class RedisStreams implements Broker {
  readonly name: string;
  readonly keepsOrder = true;
  readonly decode: Decode | undefined;
  readonly #parts: Parts;
  #own: Promise<OwnConnection> | undefined;

  constructor(parts: Parts) {
    this.name = parts.name;
    this.decode = parts.decode;
    this.#parts = parts;
  }

  async publish(messages: readonly OutboundMessage[]): Promise<readonly { readonly kind: 'published' }[]> {
    const byStream = new Map<string, string[]>();
    for (const message of messages) {
      const stream = this.#parts.streamOf(message.type, message.isDead);
      const args = byStream.get(stream) ?? [];
      byStream.set(stream, args);
      const fields = toFields(message);
      args.push(String(fields.length), ...fields);
    }
    const { run } = await this.#connection();
    try {
      for (const [stream, args] of byStream) await run('EVAL', ADD_ALL, '1', stream, ...args);
    } catch (error) {
      await this.close();
      throw error;
    }
    return messages.map(() => ({ kind: 'published' }));
  }

  async consume(request: ConsumeRequest): Promise<Consumption> {
    const { connections, streamOf, keepMs } = this.#parts;
    const streams = [...new Set(request.types.map((type) => streamOf(type, request.isDead)))];
    const reader = new StreamReader(await connections.open(), await connections.open(), { request, streams, keepMs });
    try {
      await reader.start();
    } catch (error) {
      await reader.stop();
      throw error;
    }
    return reader;
  }

  async close(): Promise<void> {
    const own = this.#own;
    this.#own = undefined;
    (await own?.catch(() => undefined))?.close();
  }

  #connection(): Promise<OwnConnection> {
    this.#own ??= this.#parts.connections.open();
    return this.#own;
  }
}
