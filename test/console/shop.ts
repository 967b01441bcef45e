import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool, type PoolClient } from 'pg';
import { command, durableCommands, type DurableCommands } from '../../src/commands/index.ts';
import { idempotency } from '../../src/idempotency/index.ts';
import { event, type Holdfast, holdfast, policy, steps, TerminalHandlerError } from '../../src/index.ts';
import type { Operator } from '../../src/operator/index.ts';
import {
  type FactRecorder,
  factRecorder,
  migrate,
  postgres,
  postgresCommands,
  postgresIdempotency,
  postgresOperator,
  type SqlTransaction,
} from '../../src/postgres/index.ts';
import { systemEffects } from '../../src/system/effects.ts';
import { driveBulks } from '../../src/cli/drive-bulks.ts';
import { operatorServer, type OperatorServerOptions } from '../../src/server/index.ts';

/** An order, as far as handlers look at it. */
interface Order {
  readonly customer: string;
  readonly item: string;
  readonly currency: string;
  readonly email: string;
  readonly [field: string]: unknown;
}

const orderPlaced = event<Order>('order.placed', { key: (order) => order.customer });
const orderReminder = event<{ readonly customer: string }>('order.reminder', {
  key: ({ customer }) => customer,
});
const orderExported = event<{ readonly customer: string }>('order.exported');

interface ModuleRun {
  readonly runId: string;
  readonly moduleId: string;
}

/** Fails for good in the module `publish`. */
export const runModule = command<ModuleRun>('module.run', {
  target: (run) => run.runId,
  module: (run) => run.moduleId,
  key: (run) => `${run.runId}:${run.moduleId}`,
});

/** What a test changes while the shop runs. */
interface Weather {
  isMailDown: boolean;
}

/** A shop with handlers that succeed, fail, wait and stand still, and a console over it. */
export interface Shop {
  readonly schema: string;
  readonly pool: Pool;
  readonly hf: Holdfast<PoolClient>;
  readonly operator: Operator;
  readonly facts: FactRecorder;
  readonly commands: DurableCommands<PoolClient, SqlTransaction>;
  readonly weather: Weather;
  send(order: Partial<Order>, options?: { readonly correlationId?: string }): Promise<string>;
  inTransaction<T>(work: (tx: PoolClient) => Promise<T>): Promise<T>;
  /** Serves a console; answers its address, with a slash at its end. */
  serve(options?: Partial<OperatorServerOptions>): Promise<string>;
  close(): Promise<void>;
}

/** Opens the shop on a schema of its own, which is dropped when it closes. */
export async function openShop({ url, schema }: { readonly url: string; readonly schema: string }): Promise<Shop> {
  const pool = new Pool({ connectionString: url, max: 12 });
  // What is lost while it rests is opened anew when it is needed.
  pool.on('error', () => undefined);
  await withClient(pool, (client) => migrate(client, { schema }));
  const store = postgres({ pool, schema });
  const weather: Weather = { isMailDown: true };
  const hf = holdfast({ service: 'shop', store });
  const billing = holdfast({ service: 'billing', store });
  const commands = durableCommands({ holdfast: hf, store: postgresCommands({ pool, schema }) });
  const facts = factRecorder({ service: 'shop', pool, schema });
  registerShop(hf, weather);
  registerBilling(billing);
  commands.handle(runModule, async ({ moduleId }) => {
    if (moduleId === 'publish') throw new TerminalHandlerError('the page has no title');
    return { moduleId };
  });
  const relays = await Promise.all([hf, billing].map((one) => one.start({ observers: [facts.relay] })));
  await leaveHandler(holdfast({ service: 'legacy', store }));
  const closers: (() => Promise<void>)[] = [];
  const operator = postgresOperator({ pool, schema });
  const inTransaction: Shop['inTransaction'] = (work) => inOne(pool, work);
  return {
    schema,
    pool,
    hf,
    operator,
    facts,
    commands,
    weather,
    inTransaction,
    send: async (order, options = {}) => {
      const whole = { customer: 'cus_1', item: 'anchor', currency: 'EUR', email: 'ann@example.com', ...order };
      return (await inTransaction((tx) => hf.send(tx, orderPlaced, whole, options))).id;
    },
    serve: async (options = {}) => {
      const { address, close } = await serve(operator, options);
      closers.push(close);
      return address;
    },
    close: async () => {
      await Promise.all(closers.map((close) => close()));
      await Promise.all(relays.map((relay) => relay.stop({ drainMs: 10 })));
      await facts.stop();
      await pool.query(`drop schema "${schema}" cascade`);
      await pool.end();
    },
  };
}

function registerShop(hf: Holdfast<PoolClient>, weather: Weather): void {
  const atOnce = policy({ schedule: steps([1]) });
  hf.on(orderPlaced, 'dashboard', async () => {});
  hf.on(
    orderPlaced,
    'email-receipt',
    async ({ email }) => {
      if (weather.isMailDown && email.endsWith('@down.test')) {
        throw Object.assign(new Error(`connect ECONNREFUSED, for ${email}`), { code: 'ECONNREFUSED' });
      }
    },
    { policy: atOnce, onDead: 'park', repeatable: true, breaker: false, maxOutageMs: 0 },
  );
  hf.on(orderReminder, 'remind', async () => {});
}

function registerBilling(billing: Holdfast<PoolClient>): void {
  billing.on(
    orderPlaced,
    'charge',
    async ({ currency, item }, ctx) => {
      if (currency.startsWith('XXX')) throw new TerminalHandlerError(`there is no exchange rate for ${currency}`);
      if (item === 'gift card') throw Object.assign(new Error('the bank is closed'), { code: 'BANK_CLOSED' });
      if (item === 'slow boat') await aborted(ctx.signal);
    },
    { policy: policy({ schedule: steps([600_000, 600_000]) }), onDead: 'pass', breaker: { dependency: 'bank' } },
  );
}

/** A handler that is known, and that nobody serves any more. */
async function leaveHandler(legacy: Holdfast<PoolClient>): Promise<void> {
  legacy.on(event<object>('order.archived'), 'archive', async () => {});
  await (await legacy.start()).stop({ drainMs: 10 });
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** What the pages show: a little of everything. Resolves when all of it has come to rest. */
export async function fillShop(
  shop: Shop,
): Promise<{ readonly failed: string; readonly scheduled: string; readonly parked: string }> {
  const { hf, operator, facts, commands } = shop;
  for (let number = 1; number <= 8; number += 1) await shop.send({ customer: `cus_${number}`, number });
  const failed = await shop.send({ customer: 'cus_x', currency: 'XXX', number: 9 }, { correlationId: 'req-8412' });
  facts.request({ operation: 'POST /orders', requestId: 'req-8412', userId: 'user_7', httpStatus: 202, latencyMs: 31 });
  const call = {
    operation: 'smtp.send',
    method: 'POST',
    url: 'https://mail.internal/letters',
    requestId: 'req-8412',
    maxAttempts: 3,
  };
  facts.call({ ...call, attempt: 1, httpStatus: 503, errorClass: 'overload', latencyMs: 240, retryable: true });
  facts.call({ ...call, attempt: 2, httpStatus: 200, latencyMs: 41 });
  for (const customer of ['cus_m1', 'cus_m2', 'cus_m3']) await shop.send({ customer, email: `${customer}@down.test` });
  const parked = await shop.send({ customer: 'cus_m1', item: 'rope' });
  await shop.send({ customer: 'cus_r', item: 'gift card' });
  await shop.send({ customer: 'cus_s', item: 'slow boat' });
  const later = { deliverAt: new Date(Date.now() + 3_600_000) };
  const { id: scheduled } = await shop.inTransaction((tx) => hf.send(tx, orderReminder, { customer: 'cus_2' }, later));
  await shop.inTransaction((tx) => hf.send(tx, orderExported, { customer: 'cus_3' }));
  for (const moduleId of ['fetch', 'score', 'publish']) {
    await shop.inTransaction((tx) => commands.send(tx, runModule, { runId: 'run_456', moduleId }));
  }
  const idem = idempotency({ service: 'shop', store: postgresIdempotency({ pool: shop.pool, schema: shop.schema }) });
  await idem.once('charge:ord_1', async () => ({ id: 'ch_1' }));
  await settled(operator, failed, 'failed');
  await settled(operator, parked, 'failed');
  return { failed, scheduled, parked };
}

async function settled(operator: Operator, id: string, status: string): Promise<void> {
  for (;;) {
    const found = await operator.find(id);
    if (found.kind === 'found' && found.message.status === status) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function serve(
  operator: Operator,
  options: Partial<OperatorServerOptions>,
): Promise<{ readonly address: string; readonly close: () => Promise<void> }> {
  const consoleFiles = new URL('../../dist/console/', import.meta.url);
  const server = operatorServer({ operator, localOnly: true, consoleFiles, pollMs: 500, ...options });
  const http = createServer(server.listener).listen(0, '127.0.0.1');
  await once(http, 'listening');
  const { port } = http.address() as AddressInfo;
  const stopped = new AbortController();
  // As `holdfast serve` does.
  const stepping = driveBulks(operator, systemEffects, stopped.signal);
  return {
    address: `http://127.0.0.1:${port}${options.basePath ?? ''}/`,
    close: async () => {
      stopped.abort();
      await stepping;
      await server.close();
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

async function inOne<T>(pool: Pool, work: (tx: PoolClient) => Promise<T>): Promise<T> {
  return withClient(pool, async (client) => {
    await client.query('begin');
    const answer = await work(client);
    await client.query('commit');
    return answer;
  });
}

async function withClient<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    return await work(client);
  } finally {
    client.release();
  }
}
