/** The services, in the order in which a purchase passes them. */
export const SERVICES = ['orders', 'expenses', 'transactions'] as const;

export type ServiceName = (typeof SERVICES)[number];

/** What all processes of the example are told, by the environment. */
export interface Settings {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly rabbitmqUrl: string;
  readonly kafkaBrokers: readonly string[];
  /** Stands before the names of exchanges, queues, topics and keys. */
  readonly prefix: string;
  readonly ports: Readonly<Record<ServiceName, number>>;
  /** Where traces are shown, when they go nowhere else. */
  readonly tracesPort: number;
  /** How many times shorter than real waits are. */
  readonly speed: number;
}

/** Something that is not set, or set to what cannot be; the message names all of it. */
export class SettingsError extends Error {}

const SERVERS = {
  DATABASE_URL: 'postgres://postgres@127.0.0.1:5432/postgres',
  REDIS_URL: 'redis://127.0.0.1:6379',
  RABBITMQ_URL: 'amqp://guest:guest@127.0.0.1:5672',
  KAFKA_BROKERS: '127.0.0.1:9092',
} as const;

/** The schema that holds all tables of a service, its outbox too. */
export function schemaOf(service: ServiceName): string {
  return `budget_${service}`;
}

/** Reads the environment. Throws `SettingsError` with everything that is missing or wrong. */
export function readSettings(env: NodeJS.ProcessEnv = process.env): Settings {
  const problems: string[] = [];
  const server = (name: keyof typeof SERVERS): string => {
    const value = env[name] ?? '';
    if (value === '') problems.push(`${name} is not set; for example ${name}=${SERVERS[name]}`);
    return value;
  };
  const number = (name: string, normal: number, [min, max]: readonly [number, number]): number => {
    const value = env[name] ? Number(env[name]) : normal;
    if (!(value >= min && value <= max)) problems.push(`${name} is "${env[name]}"; write a number, ${min} to ${max}`);
    return value;
  };
  const settings: Settings = {
    databaseUrl: server('DATABASE_URL'),
    redisUrl: server('REDIS_URL'),
    rabbitmqUrl: server('RABBITMQ_URL'),
    kafkaBrokers: server('KAFKA_BROKERS').split(','),
    prefix: env['BUDGET_PREFIX'] ?? 'budget.',
    ports: {
      orders: number('ORDERS_PORT', 3001, [1, 65_535]),
      expenses: number('EXPENSES_PORT', 3002, [1, 65_535]),
      transactions: number('TRANSACTIONS_PORT', 3003, [1, 65_535]),
    },
    tracesPort: number('TRACES_PORT', 3004, [1, 65_535]),
    speed: number('BUDGET_SPEED', 1, [1, 1_000]),
  };
  if (problems.length > 0) throw new SettingsError(problems.join('\n'));
  return settings;
}
