import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type Db, MongoClient } from 'mongodb';
import { Client } from 'pg';
import { afterAll } from 'vitest';
import { startTraceCollector, type TraceCollector } from '../../examples/budget-services/traces/trace-collector.ts';
import type { TestServer } from '../support/needs.ts';
import { freePort } from '../support/private-server.ts';
import { dropTopology } from '../support/rabbitmq-server.ts';
import { type BareReader, readExchange, readTopics } from './bare-readers.ts';

/** The servers the example runs on. */
export const BUDGET_SERVERS = ['postgres', 'mongodb', 'redis', 'rabbitmq', 'kafka'] as const;

export type Servers = Readonly<Record<(typeof BUDGET_SERVERS)[number], TestServer>>;

/** The example at work. */
export interface Budget {
  /** What its processes were told. */
  readonly env: NodeJS.ProcessEnv;
  readonly prefix: string;
  readonly ports: Readonly<Record<'orders' | 'ordersRelay' | 'expenses' | 'transactions' | 'transactionsRest', number>>;
  /** What its processes tell of themselves by OTLP. */
  readonly collector: TraceCollector;
  readonly rabbitmq: BareReader;
  /** The copies of dead letters at RabbitMQ. */
  readonly deadCopies: BareReader;
  readonly kafka: BareReader;
  /** The database of the service expenses, read with the bare driver. */
  readonly mongo: Db;
  readonly output: () => string;
  /** The number of a process that runs now. */
  readonly pidOf: (name: string) => number;
  readonly query: <Row extends object>(text: string, values?: readonly unknown[]) => Promise<readonly Row[]>;
}

const MAIN = fileURLToPath(new URL('../../examples/budget-services/main.ts', import.meta.url));

/** What ends what was started, in the order of the starts. */
export type Ends = (() => Promise<unknown> | void)[];

/** Starts the example once for all tests of a file, on names and a database of its own; it ends after the last of them. */
export function sharedBudget(): (servers: Servers) => Promise<Budget> {
  const ends: Ends = [];
  let budget: Promise<Budget> | undefined;
  afterAll(async () => {
    for (const end of ends.toReversed()) await end();
  });
  return (servers) => (budget ??= start(servers, ends));
}

/** The environment of one run, and what is in it. */
export interface OwnEnvironment extends Pick<Budget, 'prefix' | 'ports'> {
  readonly env: Readonly<Record<string, string>>;
  readonly databaseUrl: string;
}

/** What the processes of one run are told: a database, names and ports of its own. `ends` removes what that leaves behind. */
export async function ownEnvironment(
  { postgres, mongodb, redis, rabbitmq, kafka }: Servers,
  ends: Ends,
): Promise<OwnEnvironment> {
  const databaseUrl = await ownDatabase(postgres, ends);
  const mongodbUrl = ownMongodb(mongodb);
  const prefix = `${rabbitmq.namespace}.`;
  const ports = {
    orders: await freePort(),
    ordersRelay: await freePort(),
    expenses: await freePort(),
    transactions: await freePort(),
    transactionsRest: await freePort(),
  };
  const env = {
    DATABASE_URL: databaseUrl,
    MONGODB_URL: mongodbUrl,
    REDIS_URL: redis.url,
    RABBITMQ_URL: rabbitmq.url,
    KAFKA_BROKERS: kafka.url,
    BUDGET_PREFIX: prefix,
    BUDGET_SPEED: '20',
    PORT: '0',
    ORDERS_PORT: String(ports.orders),
    EXPENSES_PORT: String(ports.expenses),
    TRANSACTIONS_PORT: String(ports.transactions),
    TRANSACTIONS_REST_PORT: String(ports.transactionsRest),
    ORDERS_RELAY_PORT: String(ports.ordersRelay),
  };
  ends.push(() => dropTopology(rabbitmq.url, prefix, ['order', 'holdfast'], ['expenses']));
  return { env, databaseUrl, prefix, ports };
}

async function start(servers: Servers, ends: Ends): Promise<Budget> {
  const { rabbitmq, kafka } = servers;
  const collector = await startTraceCollector(0);
  ends.push(() => collector.close());
  const { env: own, databaseUrl, prefix, ports } = await ownEnvironment(servers, ends);
  const env = { ...own, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
  const output = await runMain(env, ends);
  const topics = [`${prefix}expense`, `${prefix}transaction`];
  const [exchange, deadCopies, topic] = await Promise.all([
    readExchange(rabbitmq.url, `${prefix}order`),
    readExchange(rabbitmq.url, `${prefix}order.dlq`),
    readTopics(kafka.url, topics, `${prefix}bare`),
  ]);
  ends.push(exchange.close, deadCopies.close, topic.close);
  const client = await connected(databaseUrl, ends);
  const mongo = new MongoClient(own['MONGODB_URL'] ?? '');
  ends.push(() => mongo.close());
  return {
    env,
    prefix,
    ports,
    collector,
    rabbitmq: exchange,
    deadCopies,
    kafka: topic,
    mongo: mongo.db(),
    output,
    pidOf: (name) => Number([...output().matchAll(new RegExp(`^${name} +is process (\\d+)$`, 'gm'))].at(-1)?.[1]),
    query: async (text, values = []) => (await client.query(text, [...values])).rows as never,
  };
}

/** Starts the program as a reader of its README does, and answers what it writes once all is ready. */
async function runMain(env: NodeJS.ProcessEnv, ends: Ends): Promise<() => string> {
  // The channel ends it should this process be killed.
  const child = spawn(process.execPath, [MAIN], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const closed = once(child, 'close');
  ends.push(async () => {
    child.kill('SIGTERM');
    await closed;
  });
  let output = '';
  await new Promise<void>((resolve, reject) => {
    const add = (data: Buffer): void => {
      output += data.toString();
      if (output.includes('All is ready.')) resolve();
    };
    child.stdout?.on('data', add);
    child.stderr?.on('data', add);
    void closed.then(() => reject(new Error(`it ended before it was ready:\n${output}`)));
  });
  return () => output;
}

async function ownDatabase({ url, namespace }: TestServer, ends: Ends): Promise<string> {
  const admin = await connected(url, ends);
  await admin.query(`create database ${namespace}_budget`);
  ends.push(() => admin.query(`drop database ${namespace}_budget with (force)`));
  const own = new URL(url);
  own.pathname = `/${namespace}_budget`;
  own.search = '';
  return own.href;
}

/** The database of the test file, which is removed with it. */
function ownMongodb({ url, namespace }: TestServer): string {
  const own = new URL(url);
  own.pathname = `/${namespace}`;
  return own.href;
}

async function connected(connectionString: string, ends: Ends): Promise<Client> {
  const client = new Client({ connectionString });
  // Dropping the database cuts what is still connected to it.
  client.on('error', () => undefined);
  await client.connect();
  ends.push(() => client.end().catch(() => undefined));
  return client;
}
