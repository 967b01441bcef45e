import { Admin } from '@platformatic/kafka';
import { connect } from 'amqplib';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import type { Settings } from './parts/settings.ts';

const LIMIT_MS = 5_000;

/** Resolves when all four servers answer. Rejects with what does not, each with the variable that says where it is. */
export async function reachServers(settings: Settings): Promise<void> {
  const { databaseUrl, redisUrl, rabbitmqUrl, kafkaBrokers } = settings;
  const problems = await Promise.all([
    problemOf('PostgreSQL', 'DATABASE_URL', () => reachPostgres(databaseUrl)),
    problemOf('Redis', 'REDIS_URL', () => reachRedis(redisUrl)),
    problemOf('RabbitMQ', 'RABBITMQ_URL', () => reachRabbitmq(rabbitmqUrl)),
    problemOf('Kafka', 'KAFKA_BROKERS', () => reachKafka(kafkaBrokers)),
  ]);
  const found = problems.filter((problem) => problem !== undefined);
  if (found.length > 0) throw new UnreachableError(found.join('\n'));
}

/** A server that does not answer; the message names it, and what to do. */
export class UnreachableError extends Error {}

async function problemOf(server: string, variable: string, reach: () => Promise<void>): Promise<string | undefined> {
  try {
    await reach();
    return undefined;
  } catch (error) {
    return `${server} does not answer where ${variable} says (${reasonOf(error)}); docker compose up -d starts one`;
  }
}

/** What the innermost of them says: clients wrap what the socket said. */
function reasonOf(error: unknown): string {
  const { errors, cause, code, message } = error as AggregateError & NodeJS.ErrnoException;
  const inner = (errors as unknown[] | undefined)?.[0] ?? cause;
  return inner === undefined ? (code ?? (message || 'no answer')) : reasonOf(inner);
}

async function reachPostgres(connectionString: string): Promise<void> {
  const client = new Client({ connectionString, connectionTimeoutMillis: LIMIT_MS });
  await client.connect();
  await client.end();
}

async function reachRedis(url: string): Promise<void> {
  const client = new Redis(url, { lazyConnect: true, connectTimeout: LIMIT_MS, retryStrategy: () => null });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.ping();
  } finally {
    client.disconnect();
  }
}

async function reachRabbitmq(url: string): Promise<void> {
  const connection = await connect(url, { timeout: LIMIT_MS });
  await connection.close();
}

async function reachKafka(brokers: readonly string[]): Promise<void> {
  const times = { connectTimeout: LIMIT_MS, requestTimeout: LIMIT_MS, retries: 0 };
  const admin = new Admin({ clientId: 'budget-services', bootstrapBrokers: [...brokers], ...times });
  try {
    await admin.metadata({ topics: [] });
  } finally {
    await admin.close();
  }
}
