import { connect, type ChannelModel } from 'amqplib';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PrivateServer } from './private-server.ts';

/** A user of a RabbitMQ of our own, with the patterns of what it may make, write to and read from. Its password is its name. */
export interface RabbitmqUser {
  readonly name: string;
  readonly configure: string;
  readonly write: string;
  readonly read: string;
}

/** How a RabbitMQ of our own is set up. */
export interface RabbitmqPlan {
  readonly program: string;
  /** What belongs to one start of it, and what it keeps. */
  readonly folder: string;
  readonly data: string;
  readonly port: number;
  /** Two more ports, for Erlang. */
  readonly distPort: number;
  readonly epmdPort: number;
  /** Lines of its settings file. */
  readonly settings?: readonly string[];
  readonly users?: readonly RabbitmqUser[];
}

const GUEST: RabbitmqUser = { name: 'guest', configure: '.*', write: '.*', read: '.*' };

export function localRabbitmq(port: number): string {
  return `amqp://guest:guest@127.0.0.1:${port}`;
}

/** Resolves if the server lets us in. */
export async function probeRabbitmq(url: string): Promise<void> {
  await connected(url, async () => undefined);
}

/**
 * How to run a RabbitMQ of our own: the node, its cookie, its data and its port mapper are nobody else's, so that several can run
 * beside each other. Quorum queues write to the disk as in production.
 */
export function planRabbitmq(plan: RabbitmqPlan): Pick<PrivateServer, 'server' | 'after' | 'env'> {
  const { program, folder, data, port, distPort, epmdPort, settings = [], users = [] } = plan;
  for (const name of ['home', 'log', 'mnesia']) mkdirSync(join(data, name), { recursive: true });
  const files = { plugins: join(folder, 'plugins'), settings: join(folder, 'rabbitmq.conf') };
  const definitions = join(folder, 'definitions.json');
  writeFileSync(files.plugins, '[].');
  writeFileSync(definitions, JSON.stringify(definitionsOf([GUEST, ...users])));
  const lines = [`listeners.tcp.default = 127.0.0.1:${port}`, `load_definitions = ${definitions}`, ...settings];
  writeFileSync(files.settings, `${lines.join('\n')}\n`);
  const env = {
    HOME: join(data, 'home'),
    LANG: 'C.UTF-8',
    RABBITMQ_NODENAME: `t${port}@localhost`,
    RABBITMQ_DIST_PORT: String(distPort),
    ERL_EPMD_PORT: String(epmdPort),
    ERL_EPMD_ADDRESS: '127.0.0.1',
    RABBITMQ_MNESIA_BASE: join(data, 'mnesia'),
    RABBITMQ_LOG_BASE: join(data, 'log'),
    RABBITMQ_CONFIG_FILE: files.settings,
    RABBITMQ_ENABLED_PLUGINS_FILE: files.plugins,
    RABBITMQ_CONF_ENV_FILE: '/dev/null',
    RABBITMQ_PID_FILE: join(folder, 'pid'),
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-kernel inet_dist_use_interface {127,0,0,1}',
    // The script becomes the server: signals reach it.
    RUNNING_UNDER_SYSTEMD: 'true',
  };
  return { server: [program], after: [['epmd', '-kill']], env };
}

function definitionsOf(users: readonly RabbitmqUser[]): object {
  return {
    users: users.map(({ name }) => ({
      name,
      password_hash: hashOf(name),
      hashing_algorithm: 'rabbit_password_hashing_sha256',
      tags: name === 'guest' ? 'administrator' : '',
    })),
    vhosts: [{ name: '/' }],
    permissions: users.map(({ name, configure, write, read }) => ({ user: name, vhost: '/', configure, write, read })),
  };
}

function hashOf(password: string): string {
  const salt = randomBytes(4);
  const digest = createHash('sha256').update(salt).update(password).digest();
  return Buffer.concat([salt, digest]).toString('base64');
}

/** Runs something on a connection that is closed after it. */
export async function connected<T>(url: string, use: (connection: ChannelModel) => Promise<T>): Promise<T> {
  const connection = await connect(url, { timeout: 5000 });
  // A server that is still starting may cut the connection after it was made.
  connection.on('error', () => {});
  try {
    return await use(connection);
  } finally {
    await connection.close().catch(() => undefined);
  }
}

/** Takes away the exchanges and queues that a test with this prefix can have made. */
export async function dropTopology(
  url: string,
  prefix: string,
  topics: readonly string[],
  groups: readonly string[],
): Promise<void> {
  await connected(url, async (connection) => {
    const channel = await connection.createChannel();
    for (const topic of topics) {
      for (const group of groups) await channel.deleteQueue(`${prefix}${group}.${topic}`);
      await channel.deleteQueue(`${prefix}${topic}.dlq`);
      await channel.deleteExchange(`${prefix}${topic}.dlq`);
      await channel.deleteExchange(`${prefix}${topic}`);
    }
  });
}
