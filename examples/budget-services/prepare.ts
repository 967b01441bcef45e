import { Admin } from '@platformatic/kafka';
import { migrate } from 'holdfast/postgres';
import { Client } from 'pg';
import { EXPENSE_TABLES } from './expenses/tables.ts';
import { ORDER_TABLES } from './orders/tables.ts';
import { planViews } from './parts/plan-views.ts';
import { schemaOf, SERVICES, type Settings } from './parts/settings.ts';
import { TRANSACTION_TABLES } from './transactions/tables.ts';

const TABLES = { orders: ORDER_TABLES, expenses: EXPENSE_TABLES, transactions: TRANSACTION_TABLES };
const TOPICS = ['expense', 'transaction'];
const PARTITIONS = 3;

/** Makes what is missing: a schema for each service with its tables and its outbox, and the topics. RabbitMQ's part is declared by itself. */
export async function prepare({ databaseUrl, kafkaBrokers, prefix }: Settings): Promise<void> {
  await Promise.all([makeSchemas(databaseUrl), makeTopics(kafkaBrokers, prefix)]);
}

async function makeSchemas(connectionString: string): Promise<void> {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    for (const service of SERVICES) {
      await migrate(client, { schema: schemaOf(service) });
      await client.query(TABLES[service]);
      await client.query(planViews(service));
    }
  } finally {
    await client.end();
  }
}

async function makeTopics(brokers: readonly string[], prefix: string): Promise<void> {
  const admin = new Admin({ clientId: 'budget-services', bootstrapBrokers: [...brokers] });
  try {
    const there = new Set(await admin.listTopics());
    const wanted = TOPICS.flatMap((topic) => [`${prefix}${topic}`, `${prefix}${topic}.dlq`]);
    const topics = wanted.filter((topic) => !there.has(topic));
    if (topics.length > 0) await admin.createTopics({ topics, partitions: PARTITIONS, replicas: 1 });
  } finally {
    await admin.close();
  }
}
