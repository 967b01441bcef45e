import { OptionCheck } from '../kernel/check-options.ts';
import type { HoldfastError } from '../kernel/error.ts';
import { systemEffects } from '../system/effects.ts';
import { BatchLimit } from '../transport/batch-limit.ts';
import type {
  Broker,
  ConsumeRequest,
  Consumption,
  Decode,
  OutboundMessage,
  PublishResult,
} from '../transport/broker.ts';
import { DEAD_SOURCE } from '../transport/cloud-event.ts';
import { transportOf } from '../transport/transport-of.ts';
import type { Transport } from '../transport/transport.ts';
import { topicOfType } from '../transport/topic-of-type.ts';
import {
  findConnections,
  type OwnConnection,
  type RedisConnections,
  type RedisStreamClient,
  type RunCommand,
} from './redis-commands.ts';
import { toFields } from './stream-entry.ts';
import { StreamReader } from './stream-reader.ts';
import { streamRefusal } from './stream-refusal.ts';

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
  readonly takesUntyped = true;
  readonly decode: Decode | undefined;
  readonly #parts: Parts;
  readonly #limit = new BatchLimit(systemEffects);
  #own: Promise<OwnConnection> | undefined;

  constructor(parts: Parts) {
    this.name = parts.name;
    this.decode = parts.decode;
    this.#parts = parts;
  }

  async publish(messages: readonly OutboundMessage[]): Promise<readonly PublishResult[]> {
    const byStream = Map.groupBy(messages, (message) => this.#streamOf(message));
    const { run } = await this.#connection();
    const results = new Map<OutboundMessage, PublishResult>();
    const failedKeys = new Map<string, HoldfastError>();
    for (const [stream, ofStream] of byStream) {
      // What follows a refused one in its key waits, also where it goes to another stream.
      const open = ofStream.filter((message) => {
        const error = message.key === undefined ? undefined : failedKeys.get(message.key);
        if (error) results.set(message, { kind: 'failed', error });
        return !error;
      });
      const error = await this.#add(run, stream, open);
      for (const message of open) {
        results.set(message, error ? { kind: 'failed', error } : { kind: 'published' });
        if (error && message.key !== undefined) failedKeys.set(message.key, error);
      }
    }
    return messages.map((message) => results.get(message) as PublishResult);
  }

  #streamOf({ type, isDead, headers }: OutboundMessage): string {
    const found = isDead && type === '' ? /^redis:(.*)@/su.exec(headers[DEAD_SOURCE] ?? '')?.[1] : undefined;
    return found === undefined ? this.#parts.streamOf(type, isDead) : `${found}.dlq`;
  }

  /** Adds entries to a stream, all or none. Answers why the stream takes none. */
  async #add(
    run: RunCommand,
    stream: string,
    messages: readonly OutboundMessage[],
  ): Promise<HoldfastError | undefined> {
    const entries = messages.map(toFields);
    try {
      const args = entries.flatMap((fields) => [String(fields.length), ...fields]);
      if (entries.length > 0) await run('EVAL', ADD_ALL, '1', stream, ...args);
      return undefined;
    } catch (error) {
      const refusal = streamRefusal(this.name, stream, error);
      if (refusal) return refusal;
      await this.close();
      throw error;
    }
  }

  async consume(request: ConsumeRequest): Promise<Consumption> {
    const { connections, streamOf, keepMs } = this.#parts;
    const streams = [...new Set(request.types.map((type) => streamOf(type, request.isDead)))];
    const options = { request, transport: this.name, streams, keepMs, limit: this.#limit };
    const reader = new StreamReader(await connections.open(), await connections.open(), options);
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
