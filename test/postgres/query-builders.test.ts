import knex, { type Knex } from 'knex';
import { Pool } from 'pg';
import { DataSource } from 'typeorm';
import { describe, expect, onTestFinished } from 'vitest';
import { command, durableCommands } from '../../src/commands/index.ts';
import { event, holdfast, outgoing } from '../../src/index.ts';
import {
  factRecorder,
  postgres,
  postgresCommands,
  postgresIdempotency,
  postgresWebhooks,
  type SqlConnection,
  type SqlTransaction,
} from '../../src/postgres/index.ts';
import { needs } from '../support/needs.ts';
import { freshSchema } from './support/fresh-schema.ts';
import { prismaClient } from './support/prisma-client.ts';

const test = needs('postgres');

/** One that writes rows in its own way. */
interface Builder {
  /** The object of which transactions are made. */
  readonly database: SqlConnection;
  /** Runs the work in a transaction, with what writes a row of the application's own. */
  transact(work: (tx: SqlTransaction, write: (line: string) => Promise<unknown>) => Promise<void>): Promise<void>;
}

function openKnex(pool: Pool): Builder & { readonly database: Knex } {
  const { connectionString } = pool.options;
  const database = knex({ client: 'pg', connection: connectionString ?? '', pool: { min: 0, max: 2 } });
  onTestFinished(() => database.destroy());
  return {
    database,
    transact: (work) => database.transaction((trx) => work(trx, async (line) => trx('own').insert({ line }))),
  };
}

async function openTypeOrm(pool: Pool): Promise<Builder & { readonly database: DataSource }> {
  const { connectionString } = pool.options;
  const source = new DataSource({ type: 'postgres', url: connectionString ?? '', poolSize: 2 });
  const database = await source.initialize();
  onTestFinished(() => database.destroy());
  return {
    database,
    transact: (work) =>
      database.transaction((manager) =>
        work(manager, (line) => manager.createQueryBuilder().insert().into('own').values({ line }).execute()),
      ),
  };
}

function openPrisma(pool: Pool): Builder {
  const database = prismaClient(pool);
  onTestFinished(() => database.$disconnect());
  return {
    database,
    transact: (work) =>
      database.$transaction((tx) => work(tx, (line) => tx.$executeRawUnsafe('insert into own values ($1)', line))),
  };
}

const BUILDERS = { Knex: openKnex, TypeORM: openTypeOrm, Prisma: openPrisma };

const orderPlaced = event<{ readonly total: number }>('order.placed', { key: () => 'ord_1' });
const runModule = command<{ readonly run: string }>('module.run', { target: ({ run }) => run, key: ({ run }) => run });

/** A pool whose connections find the tables of one schema without its name. */
function poolIn(url: string, schema: string): Pool {
  const connectionString = `${url}${url.includes('?') ? '&' : '?'}options=${encodeURIComponent(`-c search_path=${schema}`)}`;
  const pool = new Pool({ connectionString, max: 3 });
  onTestFinished(() => pool.end());
  return pool;
}

describe.each(Object.entries(BUILDERS))('%s', (name, open) => {
  test('one transaction keeps rows, message, command and webhook together, or none of them [X.14]', async ({
    postgres: server,
  }) => {
    const schema = await freshSchema(server);
    const pool = poolIn(server.url, schema);
    await pool.query('create table own (line text not null)');
    const { database, transact } = await open(pool);
    const hf = holdfast({ service: 'orders', store: postgres({ pool, schema }) });
    hf.on(orderPlaced, 'mail', () => {});
    // Commands ask through the builder itself, too.
    const commands = durableCommands({ holdfast: hf, store: postgresCommands({ pool: database, schema }) });
    commands.handle(runModule, () => {});
    const webhooks = postgresWebhooks({ schema });
    const all = async (tx: SqlTransaction, write: (line: string) => Promise<unknown>, run: string): Promise<void> => {
      await write(run);
      await hf.send(tx, orderPlaced, { total: 5 }, { idempotencyKey: run });
      await hf.sendAll(tx, [outgoing(orderPlaced, { total: 6 }), outgoing(orderPlaced, { total: 7 })]);
      await commands.send(tx, runModule, { run });
      await webhooks.send(tx, { type: 'order.paid', data: { 'é"\\?': [run] }, eventId: run });
    };
    const kept = async (): Promise<unknown> => {
      const own = await pool.query('select line from own');
      const stored = await pool.query('select type, count(*)::int as n from outbox group by type order by type');
      return [own.rows.map(({ line }) => String(line)), stored.rows, (await commands.get({ key: 'kept' }))?.state];
    };
    const stop = new Error('rolled back by the test');
    const rolledBack = transact(async (tx, write) => {
      await all(tx, write, 'lost');
      throw stop;
    });
    await expect(rolledBack).rejects.toBe(stop);
    expect(await kept()).toEqual([[], [], undefined]);
    await transact((tx, write) => all(tx, write, 'kept'));
    await transact(async (tx) => {
      const again = await hf.send(tx, orderPlaced, { total: 5 }, { idempotencyKey: 'kept' });
      expect([again.kind, (await commands.send(tx, runModule, { run: 'kept' })).isNew]).toEqual(['duplicate', false]);
    });
    const sent = [
      { type: expect.stringContaining('module.run'), n: 1 },
      { type: 'order.placed', n: 3 },
    ];
    expect(await kept()).toEqual([['kept'], expect.arrayContaining(sent), 'queued']);
    await expect(hf.send(database as SqlTransaction, orderPlaced, { total: 5 })).rejects.toMatchObject({
      code: 'TRANSACTION_NOT_OPEN',
      message: expect.stringMatching(/pass the (trx|manager|tx) that .+ hands to your function/),
    });
  });

  test('is told where the pool below it is, when it is passed as one [X.14]', async ({ postgres: server }) => {
    const { database } = await open(poolIn(server.url, 'public'));
    const advice = {
      Knex: 'make one beside Knex',
      TypeORM: 'that is dataSource.driver.master',
      Prisma: 'make one and share it with Prisma, new PrismaPg(pool)',
    }[name];
    const given = { pool: database as never };
    for (const make of [
      () => postgres(given),
      () => postgresIdempotency(given),
      () => factRecorder({ service: 'orders', ...given }),
    ])
      expect(make).toThrow(
        expect.objectContaining({ code: 'INVALID_OPTIONS', message: expect.stringContaining(advice ?? '?') }),
      );
  });
});

test('handlers run on the pool that TypeORM has, and on one that Prisma shares [X.14]', async ({
  postgres: server,
}) => {
  const schema = await freshSchema(server);
  const pool = poolIn(server.url, schema);
  const typeorm = await openTypeOrm(pool);
  const prisma = openPrisma(pool);
  const master = (typeorm.database.driver as unknown as { readonly master: Pool }).master;
  const seen: number[] = [];
  for (const [at, { transact }, shared] of [
    [1, typeorm, master],
    [2, prisma, pool],
  ] as const) {
    const hf = holdfast({ service: `orders-${at}`, store: postgres({ pool: shared, schema }) });
    const placed = event<{ readonly total: number }>(`order.placed.${at}`);
    hf.on(placed, 'mail', async ({ total }, ctx) => ctx.commit(async () => void seen.push(total)));
    const running = await hf.start();
    onTestFinished(() => running.stop());
    await transact(async (tx) => void (await hf.send(tx, placed, { total: at })));
    await expect.poll(() => seen.at(-1)).toBe(at);
    await running.stop();
  }
  expect(seen).toEqual([1, 2]);
});
