import { randomUUID } from 'node:crypto';
import { Client, Pool } from 'pg';
import { describe, expect, onTestFinished } from 'vitest';
import { event, holdfast, idempotency } from '../../src/index.ts';
import { commands, command } from '../../src/commands/index.ts';
import {
  type DatabaseRole,
  factRecorder,
  grantsScript,
  postgres,
  postgresCommands,
  postgresDelivery,
  postgresIdempotency,
  postgresOperator,
} from '../../src/postgres/index.ts';
import { PRIVILEGES, SEQUENCE } from '../../src/postgres/grants.ts';
import type { Delivery } from '../../src/relay/relay-store.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { connect, freshSchema } from './support/fresh-schema.ts';
import { handler, message, own } from './support/worker.ts';

const test = needs('postgres');
const ANN = { actor: 'ann', reason: 'the mail server is back' };
const DAY_MS = 86_400_000;

interface Stage {
  readonly schema: string;
  /** The owner of the schema. */
  readonly owner: Client;
  /** A pool whose user has exactly what these roles are granted. */
  as(...roles: readonly DatabaseRole[]): Promise<Pool>;
}

async function stage(server: TestServer): Promise<Stage> {
  const schema = await freshSchema(server);
  const owner = await connect(server);
  let made = 0;
  return {
    schema,
    owner,
    as: async (...roles) => {
      const user = `${schema}_role_${(made += 1)}`;
      await owner.query(`create role ${user} login`);
      const url = new URL(server.url);
      url.username = user;
      const pool = new Pool({ connectionString: url.href, max: 4 });
      pool.on('error', () => undefined);
      onTestFinished(async () => {
        await pool.end();
        const cleaner = new Client({ connectionString: server.url });
        await cleaner.connect();
        await cleaner.query(`drop owned by ${user}`);
        await cleaner.query(`drop role ${user}`);
        await cleaner.end();
      });
      await owner.query(grantsScript({ schema, to: Object.fromEntries(roles.map((role) => [role, user])) }));
      return pool;
    },
  };
}

/** In a transaction of its own. */
async function within(pool: Pool, work: (tx: import('pg').PoolClient) => Promise<unknown>): Promise<void> {
  const tx = await pool.connect();
  try {
    await tx.query('begin');
    await work(tx);
    await tx.query('commit');
  } finally {
    tx.release();
  }
}

/** Dead letters that a worker has made, as the owner of the schema. */
async function deadLetters(on: Stage, server: TestServer, count: number): Promise<readonly string[]> {
  const pool = new Pool({ connectionString: server.url, max: 2 });
  onTestFinished(() => pool.end());
  const store = postgres({ pool, schema: on.schema });
  const worker = await own(store, { handlers: [handler('first', { isRepeatable: true, breaker: { name: 'mail', failures: 5 } })] });
  const sent = Array.from({ length: count }, (_, n) => message({ key: `k${n}` }));
  await within(pool, (tx) => store.append(tx, sent));
  const { ready } = await worker.read();
  await worker.session.settle(
    worker.id,
    ready.map((one) => ({ ...worker.target(one), kind: 'dead' as const, attempts: 5, holds: true, error: ERROR })),
  );
  await worker.session.leave(worker.id);
  return sent.map(({ id }) => id);
}

const ERROR = { name: 'Error', code: 'SMTP_DOWN', kind: 'network', message: 'no answer' };

describe('a database role with exactly what it is granted', () => {
  test('as a sender sends, with keys and ids of its own, notes facts, and reads no message [X.17]', async ({
    postgres: server,
  }) => {
    const on = await stage(server);
    const pool = await on.as('sender');
    const hf = holdfast({ service: 'orders', store: postgres({ schema: on.schema }) });
    const placed = event<{ id: string }>('order.placed', { key: (order) => order.id, order: 'strict' });
    await within(pool, async (tx) => {
      await hf.send(tx, placed, { id: '1' });
      await hf.send(tx, placed, { id: '1' }, { idempotencyKey: 'k', correlationId: 'c', deliverAt: new Date(Date.now() + DAY_MS) });
      expect(await hf.send(tx, placed, { id: '1' }, { idempotencyKey: 'k' })).toMatchObject({ kind: 'duplicate' });
    });
    const facts = factRecorder({ pool, schema: on.schema, service: 'orders' });
    facts.note('seen', { ids: ['r1'] });
    await facts.close();
    expect((await on.owner.query(`select from ${on.schema}.fact`)).rowCount).toBe(1);
    await expect(pool.query(`select payload from ${on.schema}.delivery`)).rejects.toMatchObject({ code: '42501' });
  });
});
