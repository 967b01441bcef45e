// node step-server.ts <options as JSON>: takes orders through one adapter, on a port for each policy, and holds each order at the
// step that it names, until it is told to go on or is killed.
import { Redis } from 'ioredis';
import { Pool, type PoolClient } from 'pg';
import { type Idempotency, idempotency, type IdempotencyStore, type Resolution } from '../../src/idempotency/index.ts';
import { postgresIdempotency } from '../../src/postgres/index.ts';
import { redisIdempotency } from '../../src/redis/index.ts';
import { ADAPTERS, type CommonOptions, type Reply, type Work } from './adapters.ts';
import { MIDDLE, sendHalf } from './half-sent.ts';
import type { Order, StepServerOptions } from './steps.ts';
import { say, SERVICE, Stops } from './stops.ts';

const options = JSON.parse(process.argv[2] ?? '') as StepServerOptions;
const { redis, effects, storeUrl = effects.url, leaseMs, keepMs, storeTimeoutMs = 2_000 } = options;
const stops = new Stops(options.stops);
const adapter = ADAPTERS.find(({ name }) => name === options.adapter);

const client = new Redis(redis.url, { retryStrategy: () => 20 });
const pool = new Pool({ connectionString: effects.url, max: 20 });
const storePool = new Pool({ connectionString: storeUrl, max: 20 });
// Stores are stopped on purpose.
for (const connection of [client, pool, storePool]) connection.on('error', () => undefined);

const { schema } = effects;
const general = { service: SERVICE, effects: stops.effects(storeTimeoutMs), storeTimeoutMs, leaseMs, keepMs };
const inRedis = redisIdempotency({ client, prefix: redis.prefix });
const inPostgres = postgresIdempotency({ pool: storePool, schema });

async function write(to: Pool | PoolClient, order: string): Promise<void> {
  await to.query(`insert into ${schema}.effect (line) values ($1)`, [order]);
}

/** Asks the table of effects, as an application would ask the one who took the money. */
async function find(order: string): Promise<Resolution> {
  const { rows } = await pool.query(`select 1 from ${schema}.effect where line = $1`, [order]);
  if (rows.length === 0) return 'rerun';
  return { status: 201, headers: [['x-own', 'found']], body: Buffer.from(`found ${order}`) };
}

function replyTo(route: string, { order, stopAt }: Order): Reply {
  const isStream = stopAt === 'streaming' || stopAt === 'streamed';
  const headers = { 'content-type': isStream ? 'text/event-stream' : 'text/plain', 'x-own': order };
  const middle = stopAt === 'sending' ? MIDDLE : 'then';
  if (!isStream) return { status: 201, headers, body: `placed ${middle} ${order}` };
  const pieces = async function* (): AsyncIterable<Uint8Array> {
    yield Buffer.from('placed ');
    await stops.at('streaming', route, stopAt);
    yield Buffer.from(`${middle} ${order}`);
  };
  return { status: 201, headers, pieces };
}

async function place(route: string, { body }: Work<never>): Promise<Reply> {
  const asked = body as Order;
  await stops.at('before-effect', route, asked.stopAt);
  await write(pool, asked.order);
  return replyTo(route, asked);
}

async function placeInside(route: string, work: Work<PoolClient>): Promise<undefined> {
  const asked = work.body as Order;
  return work.commit(async (tx) => {
    await stops.at('before-effect', route, asked.stopAt);
    await write(tx, asked.order);
    return replyTo(route, asked);
  });
}

async function serve(route: string, idem: Idempotency<never>, more: CommonOptions): Promise<[string, string]> {
  if (adapter === undefined) throw new Error('no such adapter');
  const { url } = await adapter.serve<never>(idem, more, (work) => place(route, work));
  return [route, url];
}

async function serveAtomic(): Promise<[string, string]> {
  if (adapter === undefined) throw new Error('no such adapter');
  const idem = idempotency({ ...general, store: stops.atomicStore('atomic', inPostgres) });
  const { url } = await adapter.serve<PoolClient>(idem, { atomic: true }, (work) => placeInside('atomic', work));
  return ['atomic', url];
}

if (options.stops) sendHalf(() => say({ route: 'any', step: 'sending' }));
const guarded = (route: string, store: IdempotencyStore = inRedis): Idempotency<never> =>
  idempotency({ ...general, store: stops.store(route, store) });
const urls = await Promise.all([
  ...(['refuse', 'rerun'] as const).map((unknown) => serve(unknown, guarded(unknown), { unknown })),
  serve('resolve', guarded('resolve'), { unknown: find }),
  serve('postgres', guarded('postgres', inPostgres), {}),
  serve('patient', guarded('patient'), { unknown: 'rerun', leaseMs: 60_000 }),
  serve('patient in postgres', guarded('patient in postgres', inPostgres), { unknown: 'rerun', leaseMs: 60_000 }),
  serve('brief', guarded('brief'), { keepMs: 1_000 }),
  serve('brief in postgres', guarded('brief in postgres', inPostgres), { keepMs: 1_000 }),
  serveAtomic(),
]);
say({ urls: Object.fromEntries(urls), clock: Date.now() });
