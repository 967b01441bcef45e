import { Pool } from 'pg';
import postgresJs from 'postgres';
import { describe, expect, onTestFinished } from 'vitest';
import { postgres } from '../../src/postgres/index.ts';
import type { RelayStore } from '../../src/relay/relay-store.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { connect, freshSchema, pooled } from './support/fresh-schema.ts';
import { join, own, type TestWorker } from './support/worker.ts';

const test = needs('postgres');

interface ClientCase {
  readonly name: string;
  open(server: TestServer, schema: string, sessions: string): RelayStore<unknown>;
}

const CLIENTS: readonly ClientCase[] = [
  {
    name: 'pg',
    open: (server, schema, sessions) => {
      const pool = new Pool({ connectionString: server.url, application_name: sessions });
      pool.on('error', () => undefined);
      onTestFinished(() => pool.end());
      return postgres({ pool, schema });
    },
  },
  {
    name: 'postgres.js',
    open: (server, schema, sessions) => {
      const sql = postgresJs(server.url, { connection: { application_name: sessions } });
      onTestFinished(() => sql.end({ timeout: 1 }));
      return postgres({ pool: sql, schema });
    },
  },
];

interface LivenessRow {
  readonly lock: string | null;
  readonly isMissing: boolean;
}

/** A worker that owns all units and was seen with its lock, and another that looks. */
async function scene(server: TestServer, { open }: ClientCase) {
  const schema = await freshSchema(server);
  const sessions = `${schema}_dies`;
  const admin = await connect(server);
  const worker = await own(open(server, schema, sessions));
  expect(await worker.session.listen(() => undefined)).toBe(true);
  await worker.session.survey(worker.id);
  const other = await join(postgres({ pool: pooled(server), schema }));
  const row = async (): Promise<LivenessRow | undefined> => {
    const { rows } = await admin.query<LivenessRow>(
      `select liveness_lock::text as lock, lock_missing_since is not null as "isMissing" from ${schema}.worker where id = $1`,
      [worker.id],
    );
    return rows[0];
  };
  return {
    worker,
    other,
    row,
    /** Ends its connections, as the server does when its process is gone. */
    cutOff: () =>
      admin.query(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1`, [sessions]),
    /** As if the time to come back were over. */
    timePasses: () =>
      admin.query(`update ${schema}.worker set lock_missing_since = lock_missing_since - interval '1 h'`),
  };
}

const againIn = async ({ session, id }: TestWorker<unknown>): Promise<number | undefined> =>
  (await session.survey(id)).againInMs;

for (const client of CLIENTS) {
  describe(`workers over ${client.name}`, () => {
    test('one whose connections are gone is marked, has two seconds, and is dead long before its lease ends [X.2]', async ({
      postgres: server,
    }) => {
      const { worker, other, cutOff, timePasses } = await scene(server, client);
      const news: string[] = [];
      await other.session.listen((one) => void news.push(one));
      expect(await againIn(other)).toBeUndefined();
      await cutOff();
      // All of one look: on a busy machine the two seconds may be over by the next.
      const seen = async (): Promise<readonly unknown[]> => {
        const { againInMs = 0, free, workers } = await other.session.survey(other.id);
        return [againInMs > 0 && againInMs <= 2_000, free.length, workers.length];
      };
      await expect.poll(seen).toEqual([true, 0, 2]);
      await timePasses();
      const { free, workers, againInMs } = await other.session.survey(other.id);
      expect(workers.map(({ id }) => id)).toEqual([other.id]);
      expect(againInMs).toBeUndefined();
      expect(free.filter(({ isOrphaned }) => isOrphaned)).toHaveLength(worker.tokens.size);
      // The others are called: each has a share to take.
      await expect.poll(() => news).toContain('units');
      await expect.poll(() => worker.session.beat(worker.id, 60_000, []).catch(() => 'lost')).toBe(false);
    });

    test('one that lives and lost its connections says so, keeps what it owns and holds another lock [X.2]', async ({
      postgres: server,
    }) => {
      const { worker, other, row, cutOff, timePasses } = await scene(server, client);
      const before = await row();
      expect(before).toEqual({ lock: expect.any(String), isMissing: false });
      await cutOff();
      await expect.poll(() => againIn(other)).toBeGreaterThan(0);
      const comesBack = async (): Promise<LivenessRow | undefined> => {
        await worker.session.survey(worker.id).catch(() => undefined);
        return row();
      };
      await expect.poll(async () => (await comesBack())?.isMissing).toBe(false);
      await timePasses();
      await expect.poll(async () => (await comesBack())?.lock ?? before?.lock).not.toBe(before?.lock);
      expect(await againIn(other)).toBeUndefined();
      const { owned } = await worker.session.survey(worker.id);
      expect(owned).toHaveLength(worker.tokens.size);
    });
  });
}

test('a worker that is silent and whose connection lives is not missed: its lease protects it [X.2]', async ({
  postgres: server,
}) => {
  for (const client of CLIENTS) {
    const { worker, other, row } = await scene(server, client);
    expect(await againIn(other)).toBeUndefined();
    expect(await row()).toEqual({ lock: expect.any(String), isMissing: false });
    expect((await other.session.survey(other.id)).workers).toHaveLength(2);
    await worker.session.beat(worker.id, 1, []);
    await expect.poll(async () => (await other.session.survey(other.id)).workers).toHaveLength(1);
  }
});

test('workers that look at once do not see each other as missing, nor wait in a circle [X.2]', async ({
  postgres: server,
}) => {
  const schema = await freshSchema(server);
  const workers = await Promise.all(
    Array.from({ length: 6 }, async () => {
      const worker = await join(postgres({ pool: pooled(server), schema }));
      await worker.session.listen(() => undefined);
      await worker.session.survey(worker.id);
      return worker;
    }),
  );
  for (let round = 0; round < 20; round += 1) {
    const looks = await Promise.all(workers.map(({ session, id }) => session.survey(id)));
    expect(looks.map(({ againInMs, workers: living }) => [againInMs, living.length])).toEqual(
      workers.map(() => [undefined, 6]),
    );
  }
});
