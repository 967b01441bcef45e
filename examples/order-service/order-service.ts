import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { holdfast } from 'holdfast';
import type { Deliveries } from 'holdfast/delivery';
import { mcpServer } from 'holdfast/mcp';
import { type FactRecorder, factRecorder, migrate, postgres, postgresOperator } from 'holdfast/postgres';
import { boundedServer, type OperatorServer, operatorServer } from 'holdfast/server';
import { type RelayMetrics, relayMetrics } from 'holdfast/telemetry';
import { Pool } from 'pg';
import { sendProblem } from '../local-page/routes.ts';
import { MAX_ATTEMPTS, registerHandlers } from './handlers.ts';
import { answerHttp, CONSOLE_PATH, type Shop } from './http-routes.ts';
import { LiveState } from './live-state.ts';
import { type MailAnswer, MailProvider } from './mail-provider.ts';
import { RunningNow } from './running-now.ts';
import { ShopReader } from './shop-state.ts';
import { createShopTables } from './shop-tables.ts';
import { openTraffic, TRAFFIC_KEPT_MS } from './traffic/open-traffic.ts';
import { PostOffice } from './traffic/post-office.ts';

export interface OrderServiceOptions {
  /** A PostgreSQL. What is missing in it is made. */
  readonly databaseUrl: string;
  /** How many times shorter than real the waits are. Default 1. */
  readonly speed?: number;
  /** Customers come by themselves, and things go wrong. Default false. */
  readonly hasTraffic?: boolean;
}

export interface OrderService {
  /** Listens on this machine alone; 0 is any free port. Rejects with the system's error if the port is taken. */
  listen(port: number): Promise<{ readonly url: string; readonly port: number }>;
  /** Lets what runs end, hands back what does not, closes everything. */
  stop(): Promise<void>;
}

/** Starts the relay with its three handlers, and makes the HTTP side ready to listen: the page, and the console below it. */
export async function startOrderService(options: OrderServiceOptions): Promise<OrderService> {
  const { databaseUrl, speed = 1, hasTraffic = false } = options;
  const pool = new Pool({ connectionString: databaseUrl, max: 16 });
  let stopping: Promise<void> | undefined;
  // An idle connection that breaks is replaced by the pool; without a listener it would end the process.
  pool.on('error', (error) => {
    if (stopping === undefined) console.error(`A connection to the database was lost: ${error.message}`);
  });
  await prepare(pool);

  const hf = holdfast({
    service: 'orders',
    store: postgres({ pool, ...(hasTraffic && { dedupMs: TRAFFIC_KEPT_MS }) }),
  });
  // For `holdfast trace`: requests and calls, which leave no row of their own.
  const facts = factRecorder({ service: 'orders', pool });
  const mail = new MailProvider(pool, recordMail(facts));
  registerHandlers(hf, { pool, mail, speed });
  const metrics = relayMetrics();
  const running = new RunningNow(() => live.changed());
  const operators = postgresOperator({ pool });
  const reader = new ShopReader(pool, operators, running);
  const live = new LiveState(() => reader.read());
  const traffic = hasTraffic ? await openTraffic({ pool, hf, operator: operators, facts, mail, speed }) : undefined;
  const relay = await hf.start({
    observers: [running.observe, metrics.observe, facts.relay],
    ...(hasTraffic && { historyMs: TRAFFIC_KEPT_MS }),
  });
  const post = hasTraffic ? new PostOffice({ pool, speed, keptMs: TRAFFIC_KEPT_MS }) : undefined;
  await post?.start();
  await traffic?.start();

  const ops = consoleOf(operators, metrics, post?.deliveries);
  const server = serverOf({ pool, hf, operator: operators, reader, live, metrics, facts, ops });
  const stop = async (): Promise<void> => {
    live.close();
    await Promise.all([traffic?.stop(), post?.stop(), ops.close(), close(server)]);
    await relay.stop();
    await facts.stop();
    await pool.end();
  };
  return { listen: (port) => listen(server, port), stop: () => (stopping ??= stop()) };
}

/** The operator's console, with the tools for agents, for whoever sits at this machine. */
function consoleOf(operator: Shop['operator'], metrics: RelayMetrics, deliveries?: Deliveries): OperatorServer {
  const agents = mcpServer({ operator });
  return operatorServer({
    operator,
    deliveries,
    basePath: CONSOLE_PATH,
    localOnly: true,
    localActor: 'you',
    metrics: [metrics],
    mcp: (request, { actor }, seen) => agents.fetch(request, { name: actor, mayWrite: false, operator: seen }),
  });
}

function recordMail(facts: FactRecorder): (answer: MailAnswer) => void {
  return ({ requestId, ...answer }) =>
    facts.call({
      operation: 'mail.send',
      destination: 'mail provider',
      ...answer,
      ...(requestId !== undefined && { requestId }),
      maxAttempts: MAX_ATTEMPTS['email-receipt'],
      ...(answer.httpStatus >= 500 && { errorClass: 'overload', retryable: true }),
    });
}

async function prepare(pool: Pool): Promise<void> {
  const client = await pool.connect();
  try {
    await migrate(client);
  } finally {
    client.release();
  }
  await createShopTables(pool);
}

function serverOf(shop: Shop): Server {
  return boundedServer<Server>((request: IncomingMessage, response: ServerResponse) => {
    answerHttp({ ...shop, request, response }).catch((error: unknown) => {
      console.error(error);
      if (response.headersSent) response.destroy();
      else sendProblem(response, 500, 'something broke here; the log says what');
    });
  });
}

function listen(server: Server, port: number): Promise<{ readonly url: string; readonly port: number }> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      const { port: got } = server.address() as AddressInfo;
      resolve({ url: `http://localhost:${got}`, port: got });
    });
  });
}

async function close(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  // Browsers connect ahead and ask for nothing. Such a connection does not count as idle and would be waited for a minute.
  const cut = setTimeout(() => server.closeAllConnections(), 1_000);
  await closed;
  clearTimeout(cut);
}
