import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PrivateServer } from './private-server.ts';

/** How a NATS of our own is set up. */
export interface NatsPlan {
  readonly program: string;
  /** What belongs to one start of it, and what it keeps. */
  readonly folder: string;
  readonly data: string;
  readonly port: number;
  /** Lines of its settings file. */
  readonly settings?: readonly string[];
}

export function localNats(port: number): string {
  return `nats://127.0.0.1:${port}`;
}

/** Resolves if the server lets us in and JetStream answers. */
export async function probeNats(url: string): Promise<void> {
  await withManager(url, async () => undefined);
}

/** How to run a NATS with JetStream of our own. Its number is in the file `pid`. */
export function planNats({ program, folder, data, port, settings = [] }: NatsPlan): Pick<PrivateServer, 'server'> {
  const file = join(folder, 'nats.conf');
  const lines = [`listen: "127.0.0.1:${port}"`, `jetstream { store_dir: "${data}" }`, ...settings];
  writeFileSync(file, `${lines.join('\n')}\n`);
  return { server: [program, '-c', file, '-P', join(folder, 'pid')] };
}

/** Runs something on a connection that is closed after it. */
export async function withManager<T>(url: string, use: (manager: JetStreamManager) => Promise<T>): Promise<T> {
  const connection = await connect({ servers: url, reconnect: false, timeout: 5_000 });
  try {
    return await use(await jetstreamManager(connection));
  } finally {
    await connection.close();
  }
}

/** Takes away the streams whose names begin so. */
export async function dropStreams(url: string, prefix: string): Promise<void> {
  await withManager(url, async (manager) => {
    for await (const name of manager.streams.names()) if (name.startsWith(prefix)) await manager.streams.delete(name);
  });
}
