import type { BroughtServers } from './bring-servers.ts';

/** Something that `npm start` can run. */
export interface Program {
  /** What is typed; its folder's name is taken too. */
  readonly name: string;
  readonly folder: string;
  readonly file: string;
  /** One line of `--help`. */
  readonly about: string;
  /** The variables that say where its servers are, and the server that is brought where one is not set. */
  readonly servers?: BroughtServers;
  /** It starts a Redis of its own, whose data stays, where it finds none: then the program must be on this machine. */
  readonly keepsOwnRedis?: boolean;
}

/** Every program, in the order of `--help`; the first one is run without a name. */
export const PROGRAMS: readonly Program[] = [
  {
    name: 'orders',
    folder: 'order-service',
    file: 'main.ts',
    about: 'a shop with customers, and the operator console',
  },
  {
    name: 'growth',
    folder: 'growth-backend',
    file: 'main.ts',
    about: 'commands, Redis Streams, four services to break',
    keepsOwnRedis: true,
  },
  {
    name: 'budget',
    folder: 'budget-services',
    file: 'main.ts',
    about: 'three services on RabbitMQ and Kafka, one trace',
    servers: {
      DATABASE_URL: 'embeddedPostgres',
      MONGODB_URL: 'mongodb',
      REDIS_URL: 'redis',
      RABBITMQ_URL: 'rabbitmq',
      KAFKA_BROKERS: 'kafka',
    },
  },
  { name: 'chat', folder: 'agent-chat', file: 'main.ts', about: 'a model chat whose provider is overloaded' },
  { name: 'terminal', folder: 'agent-chat', file: 'terminal.ts', about: 'the same chat in a terminal, beside `chat`' },
  { name: 'jobs', folder: 'signed-jobs', file: 'main.ts', about: 'signed jobs, delivered by a server of our own' },
  {
    name: 'substrate',
    folder: 'event-substrate',
    file: 'start.ts',
    about: 'invoices over two generations of the code',
  },
];

/** The program of that name, or of the folder with that name. */
export function programOf(name: string): Program | undefined {
  return PROGRAMS.find((one) => one.name === name) ?? PROGRAMS.find((one) => one.folder === name);
}
