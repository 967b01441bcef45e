// Started by a drill, and told what to do by the channel to it: one API process. `POST /steps` writes a row and sends a message in one
// transaction, once for each Idempotency-Key: Redis answers what is stored there, the database decides. Ends when the drill is gone.
import { AsyncLocalStorage } from 'node:async_hooks';
import { writeSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { PoolClient } from 'pg';
import { idempotent } from '../idempotency/http/fetch-handler.ts';
import { type Idempotency, idempotency } from '../idempotency/idempotency.ts';
import type { AtomicIdempotencyStore } from '../idempotency/idempotency-store.ts';
import { layered } from '../idempotency/layered-idempotency.ts';
import { createSleep } from '../kernel/sleep.ts';
import { postgresIdempotency } from '../postgres/idempotency/postgres-idempotency.ts';
import { postgres } from '../postgres/postgres.ts';
import { quotedSchema } from '../postgres/schema-name.ts';
import { redisReplyCache } from '../redis/redis-reply-cache.ts';
import { holdfast } from '../service/holdfast.ts';
import { systemEffects } from '../system/effects.ts';
import { openRedis, openTransport } from './broker-way.ts';
import {
  API_FAULT_HEADER,
  type ApiFault,
  type ApiOptions,
  STORE_HEADER,
  type WorkerNews,
  type WorkerOrder,
} from './child-line.ts';
import { takeDetours } from './detour.ts';
import { drillStatements } from './drill-tables.ts';
import { JOURNAL_FD, type JournalWord } from './journal.ts';
import { importPg } from './pg-module.ts';
import { DRILL_SERVICE, HANDLERS, runName, type Step, stepTaken } from './step.ts';

const CONNECTIONS = 10;
const MEMORY_EVERY_MS = 1_000;
const ANSWER_MS = 4_000;
/** A post that meets its own key while it runs waits for the reply. */
const WAIT_MS = 500;
const PAUSE_MS = 200;

const sleep = createSleep(systemEffects);

/** A request under way. */
interface Exchange {
  readonly cut: () => void;
  /** The database was asked: a reply that is replayed did not come from Redis. */
  hasAskedDatabase: boolean;
}

const exchanges = new AsyncLocalStorage<Exchange>();

process.once('disconnect', () => process.exit(1));
process.once('message', (options) => void open(options as ApiOptions));

function tell(news: WorkerNews): void {
  process.send?.(news);
}

function write(word: JournalWord, about: string): void {
  writeSync(JOURNAL_FD, `${word} ${about}\n`);
}

async function open(options: ApiOptions): Promise<void> {
  takeDetours(options.detours);
  const { Pool } = await importPg(options.pg);
  const limits = { connectionTimeoutMillis: ANSWER_MS, query_timeout: ANSWER_MS };
  const pool = new Pool({ connectionString: options.url, max: CONNECTIONS, ...limits });
  pool.on('error', () => undefined);
  const { schema, broker, prefix } = options;
  const { client } = await openRedis(options.redis);
  const truth = watched(postgresIdempotency<typeof pool, PoolClient>({ pool, schema, answerTimeoutMs: ANSWER_MS }));
  const store = layered({ cache: redisReplyCache({ client, prefix }), truth, pauseMs: PAUSE_MS });
  const hf = holdfast({
    service: DRILL_SERVICE,
    store: postgres({ pool, schema, answerTimeoutMs: ANSWER_MS }),
    // It publishes nothing: it only has to know the way.
    transport: broker && (await openTransport(broker)),
  });
  const route = stepsRoute(idempotency({ service: DRILL_SERVICE, store }), options, async (tx, step) => {
    const sent = await hf.send(tx, stepTaken, step);
    const columns = [[step.key], [step.n], [step.kind], [sent.id]];
    const { rows } = await tx.query<{ place: string }>(drillStatements(quotedSchema('drill', schema)).sent, columns);
    return { place: rows[0]?.place, message: sent.id };
  });
  const server = createServer((request, response) => void serve(route, request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  process.on('message', (order) => (order as WorkerOrder).do === 'stop' && process.exit(0));
  tell({ kind: 'ready', port: (server.address() as AddressInfo).port });
  for (;;) {
    tell({ kind: 'memory', rss: process.memoryUsage.rss() });
    await sleep(MEMORY_EVERY_MS);
  }
}

/** The database as the store of idempotency records; notes for each request whether it was asked. */
function watched(truth: AtomicIdempotencyStore<PoolClient>): AtomicIdempotencyStore<PoolClient> {
  return {
    ...truth,
    claim: (claim) => {
      const exchange = exchanges.getStore();
      if (exchange) exchange.hasAskedDatabase = true;
      return truth.claim(claim);
    },
  };
}

type Route = (request: Request) => Promise<Response>;
type WriteStep = (tx: PoolClient, step: Step) => Promise<object>;

/** The guarded route: the row, the message and the reply in one commit. */
function stepsRoute(idem: Idempotency<PoolClient>, { leaseMs }: ApiOptions, writeStep: WriteStep): Route {
  const guard = {
    person: (request: Request) => request.headers.get('x-customer') ?? '',
    keyFormat: 'uuid-v4',
    atomic: true,
    leaseMs,
    waitMs: WAIT_MS,
  } as const;
  return idempotent(idem, guard, async (request, run) => {
    const step = (await request.json()) as Step;
    const meets = request.headers.get(API_FAULT_HEADER) as ApiFault | null;
    write('start', runName(HANDLERS[0], step));
    try {
      if (meets !== null) write('threw', meets);
      if (meets === 'cut-before') exchanges.getStore()?.cut();
      const response = await run.commit(async (tx) => {
        if (meets === 'throw-before') throw new Error('one in a hundred fails');
        const written = await writeStep(tx, step);
        if (meets === 'throw-after') throw new Error('one in a hundred fails');
        return Response.json(
          { ...step, ...written },
          { status: 201, headers: { location: `/steps/${step.key}/${step.n}` } },
        );
      });
      if (meets === 'cut-after') exchanges.getStore()?.cut();
      return response;
    } finally {
      write('done', runName(HANDLERS[0], step));
    }
  });
}

/** Node's server in front of a handler of the Fetch standard. */
async function serve(route: Route, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const exchange: Exchange = { cut: () => request.socket.destroy(), hasAskedDatabase: false };
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)]);
    const { method = 'GET', url = '/' } = request;
    const made = new Request(`http://127.0.0.1${url}`, { method, headers, body: Buffer.concat(chunks) });
    const answer = await exchanges.run(exchange, () => route(made));
    const body = Buffer.from(await answer.arrayBuffer());
    const isReplayed = answer.headers.get('idempotent-replayed') === 'true';
    if (isReplayed) answer.headers.set(STORE_HEADER, exchange.hasAskedDatabase ? 'database' : 'redis');
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(body);
  } catch {
    // What the handler threw, or a client that has gone.
    if (!response.headersSent) response.writeHead(500);
    response.end();
  }
}
