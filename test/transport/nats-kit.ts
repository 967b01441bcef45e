import type { JetStreamManager, StreamConfig } from '@nats-io/jetstream';
import { onTestFinished } from 'vitest';
import type { NatsOptions } from '../../src/nats/index.ts';
import { natsBroker } from '../../src/nats/nats.ts';
import type { Broker } from '../../src/transport/broker.ts';
import { withManager } from '../support/nats-server.ts';
import type { TestServer } from '../support/needs.ts';

let prefixes = 0;

/** Names of one test at a NATS. Streams with the namespace of a file are taken away after it. */
export function ownNames({ url, namespace }: TestServer): NatsOptions & { readonly prefix: string } {
  return { servers: url, prefix: `${namespace}-${(prefixes += 1)}-` };
}

/** A broker that is closed when the test ends. */
export function openBroker(options: NatsOptions): Broker {
  const broker = natsBroker(options);
  onTestFinished(() => broker.close());
  return broker;
}

/** Asks the server itself. */
export function ask<T>({ servers }: NatsOptions, work: (manager: JetStreamManager) => Promise<T>): Promise<T> {
  return withManager(String(servers), work);
}

/** Makes the stream of a topic as somebody else does. */
export async function makeStream(
  options: NatsOptions & { readonly prefix: string },
  topic: string,
  config: Partial<StreamConfig> = {},
): Promise<string> {
  const name = `${options.prefix}${topic}`;
  await ask(options, (manager) => manager.streams.add({ name, subjects: [`${name}.>`], ...config }));
  return name;
}

/** How many messages a stream has. */
export function countIn(options: NatsOptions, stream: string): Promise<number> {
  return ask(options, async (manager) => (await manager.streams.info(stream)).state.messages);
}
