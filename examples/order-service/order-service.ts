import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { holdfast } from 'holdfast';
import { migrate, postgres, postgresOperator } from 'holdfast/postgres';
import { relayMetrics } from 'holdfast/telemetry';
import { Pool } from 'pg';
import { sendProblem } from '../local-page/routes.ts';
import { registerHandlers } from './handlers.ts';
import { answerHttp, type Shop } from './http-routes.ts';
import { LiveState } from './live-state.ts';
import { MailProvider } from './mail-provider.ts';
import { RunningNow } from './running-now.ts';
import { ShopReader } from './shop-state.ts';
import { createShopTables } from './shop-tables.ts';

export interface OrderServiceOptions {
  /** A PostgreSQL. What is missing in it is made. */
  readonly databaseUrl: string;
  /** How many times shorter than real the waits are. Default 1. */
  readonly speed?: number;
}

export interface OrderService {
  /** Listens on this machine alone; 0 is any free port. Rejects with the system's error if the port is taken. */
  listen(port: number): Promise<{ readonly url: string; readonly port: number }>;
  /** Lets what runs end, hands back what does not, closes everything. */
  stop(): Promise<void>;
}

/** Starts the relay with its three handlers, and makes the HTTP side ready to listen. */
export async function startOrderService({ databaseUrl, speed = 1 }: OrderServiceOptions): Promise<OrderService> {
  const pool = new Pool({ connectionString: databaseUrl, max: 10 });
  let stopping: Promise<void> | undefined;
  // An idle connection that breaks is replaced by the pool; without a listener it would end the process.
  pool.on('error', (error) => {
    if (stopping === undefined) console.error(`A connection to the database was lost: ${error.message}`);
  });
  await prepare(pool);

  const hf = holdfast({ service: 'orders', store: postgres({ pool }) });
  registerHandlers(hf, { pool, mail: new MailProvider(pool), speed });
  const metrics = relayMetrics();
  const running = new RunningNow(() => live.changed());
  const operators = postgresOperator({ pool });
  const reader = new ShopReader(pool, operators, running);
  const live = new LiveState(() => reader.read());
  const relay = await hf.start({ observers: [running.observe, metrics.observe] });

  const server = serverOf({ pool, hf, operator: operators, reader, live, metrics });
  const stop = async (): Promise<void> => {
    live.close();
    await close(server);
    await relay.stop();
    await pool.end();
  };
  return { listen: (port) => listen(server, port), stop: () => (stopping ??= stop()) };
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
  return createServer((request, response) => {
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
