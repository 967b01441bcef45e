import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Admin } from '@platformatic/kafka';
import { freePort, type Command, type PrivateServer } from './private-server.ts';

/** What it takes to run one broker that is its own controller, with everything below `folder`. Clients are sent to `advertisedPort`. */
export async function planKafka(
  jars: string,
  folder: string,
  port: number,
  advertisedPort: number = port,
): Promise<Pick<PrivateServer, 'before' | 'server'> & { readonly format: Command; readonly run: Command }> {
  const settings = join(folder, 'server.properties');
  writeFileSync(settings, await settingsOf(folder, port, advertisedPort));
  const java = ['-cp', join(jars, '*'), '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn'] as const;
  const id = randomBytes(16).toString('base64url');
  // In one word: an id may begin with a hyphen.
  const about = [`--cluster-id=${id}`, '-c', settings] as const;
  const format: Command = ['java', '-Xmx128m', ...java, 'kafka.tools.StorageTool', 'format', ...about];
  // One compiler tier and the simplest collector: it starts in half the time, and no test measures it.
  const small = ['-Xmx384m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];
  const run: Command = ['java', ...small, ...java, 'kafka.Kafka', settings];
  return { format, run, before: [format], server: run };
}

async function settingsOf(folder: string, port: number, advertisedPort: number): Promise<string> {
  const controller = await freePort();
  const lines = {
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.voters': `1@127.0.0.1:${controller}`,
    listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controller}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${advertisedPort}`,
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'PLAINTEXT',
    'log.dirs': join(folder, 'data'),
    'auto.create.topics.enable': false,
    'group.initial.rebalance.delay.ms': 0,
    'offsets.topic.num.partitions': 3,
    'offsets.topic.replication.factor': 1,
    'transaction.state.log.num.partitions': 3,
    'transaction.state.log.replication.factor': 1,
    'transaction.state.log.min.isr': 1,
    'log.segment.bytes': 16_777_216,
    // Whatever no rule forbids is allowed; a test may forbid something.
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    'allow.everyone.if.no.acl.found': true,
    'super.users': 'User:nobody',
  };
  return Object.entries(lines)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}

/** Resolves if there is a broker at `host:port` that knows its cluster. */
export function probeKafka(url: string): Promise<void> {
  return withAdmin(url, async (admin) => {
    const { brokers } = await admin.metadata({ topics: [] });
    if (brokers.size === 0) throw new Error('it knows no broker yet');
  });
}

/** Makes topics, of three partitions unless told otherwise. */
export function createTopics(url: string, topics: readonly string[], partitions = 3): Promise<void> {
  return withAdmin(url, async (admin) => {
    await admin.createTopics({ topics: [...topics], partitions, replicas: 1 });
  });
}

/** Works with the administrator's client, which is closed after it. */
export async function withAdmin<T>(url: string, work: (admin: Admin) => Promise<T>): Promise<T> {
  const times = { connectTimeout: 2_000, requestTimeout: 10_000, retries: 0 };
  const admin = new Admin({ clientId: 'holdfast-tests', bootstrapBrokers: [url], ...times });
  try {
    return await work(admin);
  } finally {
    await admin.close().catch(() => undefined);
  }
}
