import { randomUUID } from 'node:crypto';
import type { Client, Pool, PoolClient } from 'pg';
import { describe, expect, onTestFinished } from 'vitest';
import { postgres } from '../../src/postgres/index.ts';
import type { ForeignMessage } from '../../src/outbox/outbox-store.ts';
import type { RelayStore } from '../../src/relay/relay-store.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { connect, freshSchema, pooled } from './support/fresh-schema.ts';
import { join, message } from './support/worker.ts';

const test = needs('postgres');

interface Stage {
  readonly schema: string;
  readonly pool: Pool;
  readonly store: RelayStore<PoolClient>;
  /** A transaction that is open in between. */
  readonly other: Client;
  /** How many sessions wait for that transaction. */
  readonly waiting: () => Promise<number>;
}

async function stage(server: TestServer): Promise<Stage> {
  const schema = await freshSchema(server);
  const [pool, other] = [pooled(server), await connect(server)];
  const pid = (await other.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid;
  const blocked = 'select count(*)::int as n from pg_stat_activity where $1 = any (pg_blocking_pids(pid))';
  const waiting = async (): Promise<number> => (await pool.query<{ n: number }>(blocked, [pid])).rows[0]?.n ?? 0;
  await other.query('begin');
  return { schema, pool, store: postgres({ pool, schema }), other, waiting };
}

/** Two names in their order. */
function inOrder(): readonly [string, string] {
  const [a = '', b = ''] = [randomUUID(), randomUUID()].toSorted();
  return [a, b];
}

describe('of two that want the same rows in another order, one waits for the other and neither is ended by a deadlock', () => {
  test('receiving: messages from a broker are stored in the order of their ids [S4.7]', async ({
    postgres: server,
  }) => {
    const { schema, store, other, waiting } = await stage(server);
    const { session } = await join(store);
    const [a, b] = inOrder();
    const remember = (id: string): Promise<unknown> =>
      other.query(
        `insert into ${schema}.inbox (taken_as, id, source_id, expires_at)
        values ('thing.done', $1, 'test:other', now() + interval '1 hour')`,
        [id],
      );
    await remember(a);
    const arrived = (id: string): ForeignMessage => ({ ...message({ id }), sourceId: `test:${id}` });
    const receiving = session.receive([arrived(b), arrived(a)], 60_000);
    await expect.poll(waiting).toBe(1);
    await remember(b);
    await other.query('commit');
    expect((await receiving).map(({ kind }) => kind)).toEqual(['duplicate', 'duplicate']);
  });

  test('sending: idempotency keys are taken in their order [S1.4]', async ({ postgres: server }) => {
    const { schema, pool, store, other, waiting } = await stage(server);
    const [a, b] = inOrder();
    const take = (key: string): Promise<unknown> =>
      other.query(`insert into ${schema}.dedup (key, id, expires_at) values ($1, $2, now() + interval '1 hour')`, [
        key,
        randomUUID(),
      ]);
    await take(a);
    const tx = await begun(pool);
    const sending = store.append(
      tx,
      [b, a].map((idempotencyKey) => message({ idempotencyKey })),
    );
    await expect.poll(waiting).toBe(1);
    await take(b);
    await other.query('commit');
    expect((await sending).map(({ kind }) => kind)).toEqual(['duplicate', 'duplicate']);
  });

  test('sending in strict order: keys are locked in their order [S4.1]', async ({ postgres: server }) => {
    const { pool, store, other, waiting } = await stage(server);
    const [a, b] = inOrder();
    const strictly = (key: string): ReturnType<typeof message> => message({ key, strict: true });
    await store.append(other as unknown as PoolClient, [strictly(a)]);
    const tx = await begun(pool);
    const sending = store.append(tx, [strictly(b), strictly(a)]);
    await expect.poll(waiting).toBe(1);
    await store.append(other as unknown as PoolClient, [strictly(b)]);
    await other.query('commit');
    expect((await sending).map(({ kind }) => kind)).toEqual(['stored', 'stored']);
  });
});

test('a worker whose lease is over lives on if its heartbeat arrives while another one expires it [S4.2]', async ({
  postgres: server,
}) => {
  const { schema, pool, store, other, waiting } = await stage(server);
  const late = await join(store, { leaseMs: 60_000 });
  const heir = await join(store);
  await pool.query(`update ${schema}.worker set expires_at = clock_timestamp() - interval '1 second' where id = $1`, [
    late.id,
  ]);
  // Its heartbeat has come in and is not committed yet.
  await other.query(`update ${schema}.worker set expires_at = clock_timestamp() + interval '1 minute' where id = $1`, [
    late.id,
  ]);
  const looking = heir.session.survey(heir.id);
  let hasLooked = false;
  void looking.then(() => (hasLooked = true));
  await expect.poll(async () => hasLooked || (await waiting()) > 0).toBe(true);
  await other.query('commit');
  await looking;
  expect(await late.session.beat(late.id, 60_000, [])).toBe(true);
});

/** A transaction that ends with the test. */
async function begun(pool: Pool): Promise<PoolClient> {
  const tx = await pool.connect();
  onTestFinished(() => tx.release(true));
  await tx.query('begin');
  return tx;
}
