// node job-server.ts <options as JSON>: receives signed jobs and writes one line for each. Some of them meet a fault: the handler throws
// before or after its write, or the whole process is killed before or after the commit. Says when it listens; ends with its input.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { Redis } from 'ioredis';
import { Pool, type PoolClient } from 'pg';
import { idempotency, layered } from '../../src/idempotency/index.ts';
import { postgresIdempotency } from '../../src/postgres/index.ts';
import { redisIdempotency, redisReplyCache } from '../../src/redis/index.ts';
import { forExpress, type JobRun, qstash, type ReceiveRequest, signedJobs } from '../../src/webhooks/index.ts';
import { KEYS } from './sign.ts';

/** How the process is started. */
export interface JobServerOptions {
  readonly url: string;
  readonly schema: string;
  readonly port: number;
  readonly store: 'postgres' | 'layered' | 'redis';
  readonly redisUrl?: string;
  /** How many of a thousand runs are killed, and how many throw. */
  readonly kills: number;
  readonly throws: number;
}

interface Payload {
  readonly line: string;
}

const options = JSON.parse(process.argv[2] ?? '') as JobServerOptions;
const { url, schema, port, redisUrl } = options;
const pool = new Pool({ connectionString: url, max: 12 });
const insert = `insert into ${schema}.effect (line) values ($1)`;

function redis(): Redis {
  const client = new Redis(redisUrl ?? '', { retryStrategy: () => 20 });
  // It is stopped on purpose.
  client.on('error', () => {});
  return client;
}

/** Exactly so many of a thousand, beginning anywhere: a run in which none is met would prove nothing. */
function faults(ofThousand: number): () => boolean {
  let met = Math.random() * 1_000;
  return () => {
    met += ofThousand;
    if (met < 1_000) return false;
    met -= 1_000;
    return true;
  };
}

const [throws, isKilled] = [faults(options.throws), faults(options.kills)];

/** Effect and mark in one commit. */
async function writeInCommit({ line }: Payload, run: JobRun<PoolClient>): Promise<void> {
  if (throws()) throw new Error('induced before');
  await run.commit(async (tx) => {
    await tx.query(insert, [line]);
    if (throws()) throw new Error('induced within');
    if (isKilled()) process.kill(process.pid, 'SIGKILL');
  });
  if (throws()) throw new Error('induced after');
  if (isKilled()) process.kill(process.pid, 'SIGKILL');
}

function handlers(): Readonly<Record<string, ReceiveRequest>> {
  const scheme = qstash(KEYS);
  // Short, so that what a killed process held is free again soon.
  const keyed = { businessKey: ({ line }: Payload) => line, lockTtlSeconds: 1, reservationTtlSeconds: 1 };
  if (options.store === 'redis') {
    const store = redisIdempotency({ client: redis(), prefix: `${schema}:` });
    const receive = signedJobs({ idempotency: idempotency({ service: 'jobs', store, storeTimeoutMs: 300 }), scheme });
    const write = async ({ line }: Payload): Promise<void> => void (await pool.query(insert, [line]));
    return {
      '/plain': receive<Payload>('plain', write),
      '/keyed': receive<Payload>({ name: 'keyed', businessKey: ({ line }) => line }, write),
    };
  }
  const truth = postgresIdempotency({ pool, schema });
  const cache = options.store === 'layered' ? redisReplyCache({ client: redis(), prefix: `${schema}:` }) : undefined;
  const store = cache === undefined ? truth : layered({ cache, truth, pauseMs: 200 });
  const receive = signedJobs({ idempotency: idempotency({ service: 'jobs', store }), scheme });
  return {
    '/plain': receive<Payload>({ name: 'plain', lockTtlSeconds: 1 }, writeInCommit),
    '/keyed': receive<Payload>({ name: 'keyed', ...keyed }, writeInCommit),
  };
}

const routes = new Map(Object.entries(handlers()).map(([path, post]) => [path, forExpress(post)]));
const server = createServer((request, response) => {
  const route = routes.get(request.url ?? '');
  if (route === undefined) response.writeHead(404).end();
  else route(request, response);
});
server.listen(port, '127.0.0.1');
await once(server, 'listening');
console.log('listening');
process.stdin.resume();
await once(process.stdin, 'end');
process.exit(0);
