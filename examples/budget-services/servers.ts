import { Admin } from '@platformatic/kafka';
import { connect } from 'amqplib';
import { MongoClient } from 'mongodb';
import { REACH_MS, type Reached, reachPostgres, reachRedis } from '../local-processes/reach-server.ts';
import type { Settings } from './parts/settings.ts';

/** The five servers of the example. */
export function serversOf({
  databaseUrl,
  mongodbUrl,
  redisUrl,
  rabbitmqUrl,
  kafkaBrokers,
}: Settings): readonly Reached[] {
  return [
    { server: 'PostgreSQL', variable: 'DATABASE_URL', reach: () => reachPostgres(databaseUrl) },
    { server: 'MongoDB', variable: 'MONGODB_URL', reach: () => reachMongodb(mongodbUrl) },
    { server: 'Redis', variable: 'REDIS_URL', reach: () => reachRedis(redisUrl) },
    { server: 'RabbitMQ', variable: 'RABBITMQ_URL', reach: () => reachRabbitmq(rabbitmqUrl) },
    { server: 'Kafka', variable: 'KAFKA_BROKERS', reach: () => reachKafka(kafkaBrokers) },
  ];
}

async function reachMongodb(url: string): Promise<void> {
  const client = new MongoClient(url, { serverSelectionTimeoutMS: REACH_MS, connectTimeoutMS: REACH_MS });
  try {
    await client.db().command({ ping: 1 });
  } finally {
    await client.close();
  }
}

async function reachRabbitmq(url: string): Promise<void> {
  const connection = await connect(url, { timeout: REACH_MS });
  await connection.close();
}

async function reachKafka(brokers: readonly string[]): Promise<void> {
  const times = { connectTimeout: REACH_MS, requestTimeout: REACH_MS, retries: 0 };
  const admin = new Admin({ clientId: 'budget-services', bootstrapBrokers: [...brokers], ...times });
  try {
    await admin.metadata({ topics: [] });
  } finally {
    await admin.close();
  }
}
