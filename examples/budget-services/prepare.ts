import { Admin } from '@platformatic/kafka';
import { migrate } from 'holdfast/postgres';
import { Client } from 'pg';
import { prepareExpenses } from './expenses/expense-collections.ts';
import { expenseService } from './expenses/expense-service.ts';
import { ORDER_TABLES } from './orders/tables.ts';
import { planViews } from './parts/plan-views.ts';
import { POSTGRES_SERVICES, schemaOf, type Settings } from './parts/settings.ts';
import { TRANSACTION_TABLES } from './transactions/tables.ts';

const TABLES = { orders: ORDER_TABLES, transactions: TRANSACTION_TABLES };
const TOPICS = ['expense', 'transaction'];
const PARTITIONS = 3;

/**
 * Makes what is missing: schemas with tables and an outbox in PostgreSQL, collections in MongoDB, and the topics. RabbitMQ's part is declared by
 * itself.
 */
export async function prepare(settings: Settings): Promise<void> {
  const { databaseUrl, kafkaBrokers, prefix } = settings;
  await Promise.all([makeSchemas(databaseUrl), makeCollections(settings), makeTopics(kafkaBrokers, prefix)]);
}

async function makeSchemas(connectionString: string): Promise<void> {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    for (const service of POSTGRES_SERVICES) {
      await migrate(client, { schema: schemaOf(service) });
      await client.query(TABLES[service]);
      await client.query(planViews(service));
    }
  } finally {
    await client.end();
  }
}

async function makeCollections(settings: Settings): Promise<void> {
  const { client, db, outbox, inbox } = expenseService(settings);
  try {
    await Promise.all([outbox.prepare(), inbox.prepare(), prepareExpenses(db)]);
  } finally {
    await client.close();
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
