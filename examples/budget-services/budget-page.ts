import { mongoOperator } from 'holdfast/mongodb';
import { postgresOperator } from 'holdfast/postgres';
import { MongoClient } from 'mongodb';
import { Pool } from 'pg';
import { type RunningBoard, serveBoard } from '../local-page/board.ts';
import type { Board } from '../local-page/board-state.ts';
import { startOnAskedPort } from '../local-page/free-port.ts';
import { mountConsole } from '../local-page/operator-console.ts';
import { secondTerminal } from '../local-processes/second-terminal.ts';
import { type MeasuredProcess, readBoard } from './board.ts';
import { schemaOf, SERVICES, type Settings } from './parts/settings.ts';
import type { TraceCollector } from './traces/trace-collector.ts';

/** What the page is served with. */
export interface BudgetPageOptions {
  readonly settings: Settings;
  readonly collector: TraceCollector | undefined;
  readonly commands: Board['commands'];
  /** The port that was asked for, if one was. */
  readonly asked: number | undefined;
  /** Ends what was started before, where there is no port for the page. */
  readonly onNoPort: () => Promise<void>;
}

/** The page at `/`, with a console for each service. */
export async function serveBudgetPage(options: BudgetPageOptions): Promise<RunningBoard> {
  const { settings, collector, commands, asked, onNoPort } = options;
  const pool = new Pool({ connectionString: settings.databaseUrl, max: 4 });
  pool.on('error', (error) => console.error(`A connection to the database was lost: ${error.message}`));
  const mongo = new MongoClient(settings.mongodbUrl);
  const operators = {
    orders: postgresOperator({ pool, schema: schemaOf('orders') }),
    expenses: mongoOperator({ db: mongo.db() }),
    transactions: postgresOperator({ pool, schema: schemaOf('transactions') }),
  };
  const services = SERVICES.map((name) => ({
    name,
    operator: operators[name],
    consolePath: `/console/${name}/`,
  }));
  const consoles = services.map(({ operator, consolePath }) => mountConsole(operator, consolePath));
  const parts = { pool, services, collector, commands, processes: processesOf(settings) };
  const close = async (): Promise<void> => {
    await Promise.all(consoles.map((one) => one.close()));
    await Promise.all([pool.end(), mongo.close()]);
  };
  const mounts = Object.fromEntries(consoles.map(({ path, listener }) => [path, listener]));
  const board = await startOnAskedPort(
    asked,
    (port) => serveBoard({ read: () => readBoard(parts), mounts }, port),
    async () => {
      await close();
      await onNoPort();
    },
  );
  return {
    url: board.url,
    close: async () => {
      await board.close();
      await close();
    },
  };
}

/** Lines for a second terminal, in the order in which they make sense. */
export function commandsOf({ databaseUrl, mongodbUrl, ports }: Settings): Board['commands'] {
  const set = {
    DATABASE_URL: URL.parse(databaseUrl)?.password ? undefined : `'${databaseUrl}'`,
    // It may name several hosts, and is no `URL` then.
    MONGODB_URL: mongodbUrl.includes('@') ? undefined : `'${mongodbUrl}'`,
    TRANSACTIONS_PORT: String(ports.transactions),
  };
  const json = `-H 'content-type: application/json' -H 'x-user: ada'`;
  const order = (category: string, key: string): string =>
    `curl -si http://127.0.0.1:${ports.orders}/api/orders ${json} -H "idempotency-key: ${key}" -d '{"budgetId":"team","category":"${category}","item":"chair","amountCents":12900}'; echo`;
  const openAccount = String.raw`{"query":"mutation { openAccount(category: \"yachts\", account: \"0690\") }"}`;
  return [
    { about: 'First, once in each terminal', command: `${secondTerminal(set)}; KEY=$(node -p 'crypto.randomUUID()')` },
    { about: 'Place an order; again: the same answer, and nothing happens twice', command: order('office', '$KEY') },
    { about: 'What was spent', command: 'node examples/budget-services/transactions/call.ts budget team' },
    {
      about: 'An order that cannot be booked: a dead letter after seven tries, up to 16 s',
      command: order('yachts', `$(node -p 'crypto.randomUUID()')`),
    },
    { about: 'Why', command: 'examples/budget-services/bin/budget-manager dlq:peek --service expenses' },
    {
      about: 'Fix the cause',
      command: `curl -s http://127.0.0.1:${ports.expenses}/graphql ${json} -H "idempotency-key: $(node -p 'crypto.randomUUID()')" -d '${openAccount}'; echo`,
    },
    {
      about: 'Replay it',
      command: 'examples/budget-services/bin/budget-manager dlq:replay --service expenses --since 15m',
    },
  ];
}

function processesOf({ ports, transactionsRestPort, relayPort }: Settings): readonly MeasuredProcess[] {
  const at = {
    orders: ports.orders,
    'orders-relay': relayPort,
    expenses: ports.expenses,
    transactions: transactionsRestPort,
  };
  return Object.entries(at).map(([name, port]) => ({ name, metricsUrl: `http://127.0.0.1:${port}/metrics` }));
}
