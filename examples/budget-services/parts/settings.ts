import { Environment } from '../../local-processes/environment.ts';

/** The services, in the order in which a purchase passes them. */
export const SERVICES = ['orders', 'expenses', 'transactions'] as const;

export type ServiceName = (typeof SERVICES)[number];

/** Those whose data is in PostgreSQL, each in a schema of its own; that of `expenses` is in MongoDB. */
export const POSTGRES_SERVICES = ['orders', 'transactions'] as const;

export type PostgresService = (typeof POSTGRES_SERVICES)[number];

/** What all processes of the example are told, by the environment. */
export interface Settings {
  readonly databaseUrl: string;
  /** Where the data of `expenses` is, with the name of the database: `budget_expenses` unless it names another. */
  readonly mongodbUrl: string;
  readonly redisUrl: string;
  readonly rabbitmqUrl: string;
  readonly kafkaBrokers: readonly string[];
  /** Stands before the names of exchanges, queues, topics and keys. */
  readonly prefix: string;
  /** Where they listen: on this machine alone, unless told otherwise. */
  readonly host: string;
  readonly ports: Readonly<Record<ServiceName, number>>;
  /** Its calls of gRPC have a port of their own. */
  readonly transactionsRestPort: number;
  /** Where the relay of the orders, a process of its own, shows its metrics. */
  readonly relayPort: number;
  /** Where traces are shown, when they go nowhere else. */
  readonly tracesPort: number;
  /** How many times shorter than real waits are. */
  readonly speed: number;
}

/** The schema that holds all tables of a service, its outbox too. */
export function schemaOf(service: PostgresService): string {
  return `budget_${service}`;
}

/** Reads the environment. Throws `SettingsError` with everything that is missing or wrong. */
export function readSettings(env: NodeJS.ProcessEnv = process.env): Settings {
  const read = new Environment(env);
  const settings: Settings = {
    databaseUrl: read.text('DATABASE_URL', 'postgres://postgres@127.0.0.1:5432/postgres'),
    mongodbUrl: withDatabase(
      read.text('MONGODB_URL', 'mongodb://127.0.0.1:27017/budget_expenses?directConnection=true'),
    ),
    redisUrl: read.text('REDIS_URL', 'redis://127.0.0.1:6379'),
    rabbitmqUrl: read.text('RABBITMQ_URL', 'amqp://guest:guest@127.0.0.1:5672'),
    kafkaBrokers: read.text('KAFKA_BROKERS', '127.0.0.1:9092').split(','),
    prefix: env['BUDGET_PREFIX'] ?? 'budget.',
    host: env['BUDGET_HOST'] || '127.0.0.1',
    ports: {
      orders: read.number('ORDERS_PORT', 3001, [1, 65_535]),
      expenses: read.number('EXPENSES_PORT', 3002, [1, 65_535]),
      transactions: read.number('TRANSACTIONS_PORT', 3003, [1, 65_535]),
    },
    transactionsRestPort: read.number('TRANSACTIONS_REST_PORT', 3005, [1, 65_535]),
    relayPort: read.number('ORDERS_RELAY_PORT', 3006, [1, 65_535]),
    tracesPort: read.number('TRACES_PORT', 3004, [1, 65_535]),
    speed: read.number('BUDGET_SPEED', 1, [1, 1_000]),
  };
  read.check();
  return settings;
}

/** The URL of a MongoDB with a database in it. It may have several hosts, and is no `URL`. */
function withDatabase(url: string): string {
  return url.replace(/^(mongodb(?:\+srv)?:\/\/[^/?]+)\/?(?=\?|$)/, '$1/budget_expenses');
}
