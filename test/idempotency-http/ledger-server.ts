// node ledger-server.ts <database url> <schema> <port> <life>: takes orders, once each. One request in a hundred meets a fault: the
// handler throws before or after its write, the connection is cut before or after the commit, or the whole process is killed.
import { once } from 'node:events';
import fastify from 'fastify';
import { Pool, type PoolClient } from 'pg';
import { idempotent, runOf } from '../../src/fastify/index.ts';
import { idempotency } from '../../src/idempotency/index.ts';
import { postgresIdempotency } from '../../src/postgres/index.ts';

const [, , url, schema, port, life] = process.argv;
const pool = new Pool({ connectionString: url, max: 12 });
const idem = idempotency({ service: 'shop', store: postgresIdempotency({ pool, schema: schema ?? '' }) });
const app = fastify({ forceCloseConnections: true });

const FAULTS = ['kill-after', 'cut-before', 'throw-before', 'kill-before', 'cut-after', 'throw-after'] as const;
/** Where this life goes on in the row of faults: behind the kill that ended the one before. */
let next = life === '0' ? 0 : Number(life) % 2 === 1 ? 1 : 4;
let requests = 0;

/** Exactly one request in a hundred meets one, and each kind has its turn. */
function fault(): (typeof FAULTS)[number] | undefined {
  if ((requests += 1) % 100 !== 50) return undefined;
  return FAULTS[next++ % FAULTS.length];
}

const guard = idempotent(idem, { person: 'anyone', atomic: true, leaseMs: 1_000 });
app.post('/orders', { preHandler: guard }, async (request, reply) => {
  const { order } = request.body as { order: string };
  const meets = fault();
  if (meets === 'cut-before') request.raw.destroy();
  await runOf<PoolClient>(request).commit(async (tx) => {
    if (meets === 'throw-before') throw new Error('induced');
    await tx.query(`insert into ${schema}.effect (line) values ($1)`, [order]);
    if (meets === 'throw-after') throw new Error('induced');
    if (meets === 'kill-before') process.kill(process.pid, 'SIGKILL');
    reply.code(201);
    void reply.send({ order });
  });
  if (meets === 'kill-after') process.kill(process.pid, 'SIGKILL');
  if (meets === 'cut-after') request.raw.destroy();
  return reply;
});

await app.listen({ port: Number(port), host: '127.0.0.1' });
console.log('listening');
await once(process.stdin, 'end');
process.exit(0);
