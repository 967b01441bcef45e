import { Client, Pool } from 'pg';
import postgresJs from 'postgres';
import { runHere } from '../cli/run-here.ts';
import { event, holdfast, systemEffects } from '../../src/index.ts';
import { idempotency } from '../../src/idempotency/index.ts';
import { migrate, postgres, postgresIdempotency, postgresOperator } from '../../src/postgres/index.ts';
import { findDriver } from '../../src/postgres/driver/find-driver.ts';
import { type BoundedCall, endOf, type RealServers } from './bounded-call.ts';
import { type SilentPeer, silentWay } from './silent-peer.ts';

const POOL_SIZE = 4;
/** Enough for a handshake on a busy machine; what asks brokers and MongoDB takes longer anyway. */
const answerTimeoutMs = 5_000;

type SqlClient = 'pg' | 'postgres.js';

/** The application's pool, and how it ends it whatever the server does. */
interface OwnPool {
  readonly pool: Pool | postgresJs.Sql;
  end(): unknown;
}

function poolOf(client: SqlClient, url: string): OwnPool {
  if (client === 'postgres.js') {
    // Ended while it asks for types, it leaves a rejection that nobody hears.
    const sql = postgresJs(url, { max: POOL_SIZE, onnotice: () => undefined, fetch_types: false });
    return { pool: sql, end: () => sql.end({ timeout: 0 }) };
  }
  const pool = new Pool({ connectionString: url, max: POOL_SIZE });
  pool.on('error', () => undefined);
  return {
    pool,
    end: () => {
      const inside = pool as unknown as { _clients: { connection: { stream: { destroy(): void } } }[] };
      for (const { connection } of inside._clients) connection.stream.destroy();
      void pool.end().catch(() => undefined);
    },
  };
}

/** Every call to PostgreSQL, through both clients. */
export function postgresCalls(servers: RealServers): readonly BoundedCall[] {
  return [...(['pg', 'postgres.js'] as const).flatMap((client) => callsBy(client, servers)), ...commands(servers)];
}

function callsBy(client: SqlClient, servers: RealServers): readonly BoundedCall[] {
  const { schema } = servers;
  // All of them share a schema: what one sends is not for the others.
  const noted = event<number>(`note.taken.${client}`);
  const committed = event<number>(`note.committed.${client}`);
  /** A call with a pool of the application's, to a server that never answers or through a way that falls silent. */
  const made = (
    about: Pick<BoundedCall, 'call' | 'ends'> & { readonly isWarm?: boolean },
    use: (pool: never, way: SilentPeer) => Promise<string>,
  ): BoundedCall => {
    let [way, own]: [SilentPeer | undefined, OwnPool | undefined] = [undefined, undefined];
    return {
      call: about.call,
      ends: about.ends,
      variant: client,
      run: async (peer) => {
        if (about.isWarm) way = await silentWay(servers.postgres);
        own = poolOf(client, urlThrough(servers.postgres, way ?? peer));
        return use(own.pool as never, way ?? peer);
      },
      end: async () => {
        void own?.end();
        // Through a way, what is open is seen at the way.
        if (way) await untilFew(way, client).finally(way.close);
      },
    };
  };
  const storeOf = (pool: never) => postgres({ pool, schema, answerTimeoutMs });
  return [
    made({ call: 'hf.send', ends: 'DATABASE_TIMEOUT', isWarm: true }, async (pool, way) =>
      inTransaction(client, pool, (tx) => {
        way.fallSilent();
        return endOf(holdfast({ service: 'bounds', store: storeOf(pool) }).send(tx, noted, 1));
      }),
    ),
    made({ call: 'hf.start', ends: 'DATABASE_TIMEOUT' }, (pool) => {
      const hf = holdfast({ service: 'bounds', store: storeOf(pool) });
      hf.on(noted, 'note', async () => undefined);
      return endOf(hf.start());
    }),
    made({ call: 'a running relay', ends: 'DATABASE_TIMEOUT, then stopped', isWarm: true }, async (pool, way) => {
      const hf = holdfast({ service: `running-${client}`, store: storeOf(pool) });
      hf.on(noted, 'note', async () => undefined);
      const told = Promise.withResolvers<unknown>();
      const running = await hf.start({
        leaseMs: 3_000,
        observers: [(one) => one.kind === 'store-failed' && told.resolve(one.error)],
      });
      way.fallSilent();
      const code = await endOf(Promise.reject(await told.promise));
      await running.stop({ drainMs: 100 });
      return `${code}, then stopped`;
    }),
    made({ call: 'ctx.commit', ends: 'rejected, then stopped', isWarm: true }, async (pool, way) => {
      const hf = holdfast({ service: `commit-${client}`, store: storeOf(pool) });
      const ended = Promise.withResolvers<string>();
      hf.on(committed, 'note', async (_, ctx) => {
        way.fallSilent();
        ended.resolve(
          await endOf(ctx.commit(async () => undefined)).then((code) => (code === 'answered' ? code : 'rejected')),
        );
      });
      const running = await hf.start({ leaseMs: 3_000 });
      await inTransaction(client, pool, (tx) => hf.send(tx, committed, 1));
      const code = await ended.promise;
      await running.stop({ drainMs: 100 });
      return `${code}, then stopped`;
    }),
    made({ call: 'a running relay', ends: 'DATABASE_TIMEOUT', isWarm: true }, async (pool, way) => {
      const link = findDriver(pool, systemEffects, answerTimeoutMs)?.link();
      await link?.query('select 1', []);
      way.fallSilent();
      // Gone when the statement is given up: nothing of that may end the process.
      way.refuse();
      const code = await endOf(link?.query('select 1', []) ?? Promise.resolve());
      await link?.close();
      return code;
    }),
    made({ call: 'LISTEN of a relay', ends: 'DATABASE_TIMEOUT' }, (pool) => {
      const driver = findDriver(pool, systemEffects, answerTimeoutMs);
      const nothing = (): void => undefined;
      return endOf(driver?.listen('waked', nothing, nothing) ?? Promise.resolve());
    }),
    made({ call: 'postgresOperator()', ends: 'DATABASE_TIMEOUT' }, (pool) =>
      endOf(postgresOperator({ pool, schema, answerTimeoutMs: 300 }).deadLetters()),
    ),
    made({ call: 'migrate', ends: 'DATABASE_TIMEOUT', isWarm: true }, async (pool, way) => {
      const connection = await connectionOf(client, pool, urlThrough(servers.postgres, way));
      way.fallSilent();
      return endOf(migrate(connection.connection, { schema, answerTimeoutMs: 300 })).finally(connection.end);
    }),
    made({ call: 'postgresIdempotency()', ends: 'IDEMPOTENCY_STORE_DOWN' }, (pool) => {
      const store = postgresIdempotency({ pool, schema, answerTimeoutMs });
      return endOf(idempotency({ service: 'bounds', store, storeTimeoutMs: 200 }).once('key', async () => 1));
    }),
    made({ call: 'run.commit', ends: 'rejected', isWarm: true }, async (pool, way) => {
      const store = postgresIdempotency({ pool, schema, answerTimeoutMs });
      const guard = idempotency({ service: `commit-${client}`, store, storeTimeoutMs: 2_000 });
      const code = await endOf(
        guard.once(
          'key',
          (run) =>
            run.commit(async () => {
              way.fallSilent();
              return 1;
            }),
          // What could not be told to the store holds the process as long as its lease.
          { leaseMs: 3_000 },
        ),
      );
      return code === 'answered' ? code : 'rejected';
    }),
  ];
}

function urlThrough(url: string, { port }: SilentPeer): string {
  const way = new URL(url);
  way.hostname = '127.0.0.1';
  way.port = String(port);
  return way.href;
}

/**
 * What stays open behind a silent server would stay for ever. postgres.js asks such a server over another connection to break a
 * statement off, and waits for the answer whatever happens: at most one for each connection of its pool.
 */
async function untilFew(way: SilentPeer, client: SqlClient): Promise<void> {
  const most = client === 'pg' ? 0 : POOL_SIZE;
  for (let left = 100; way.open() > most && left > 0; left -= 1) await new Promise((done) => setTimeout(done, 50));
  if (way.open() > most) throw new Error(`${way.open()} connections are left open`);
}

async function inTransaction<T>(client: SqlClient, pool: never, work: (tx: never) => Promise<T>): Promise<T> {
  if (client === 'postgres.js') {
    const done = Promise.withResolvers<T>();
    const begun = (pool as postgresJs.Sql).begin(async (tx) => done.resolve(await work(tx as never)));
    begun.catch(done.reject);
    return done.promise;
  }
  const tx = await (pool as Pool).connect();
  tx.on('error', () => undefined);
  await tx.query('begin');
  const result = await work(tx as never);
  // Behind a silent server this is never answered; elsewhere it is what the rest waits for.
  await Promise.race([tx.query('commit').catch(() => undefined), new Promise((done) => setTimeout(done, 500))]);
  tx.release(true);
  return result;
}

async function connectionOf(
  client: SqlClient,
  pool: never,
  url: string,
): Promise<{ readonly connection: never; end(): void }> {
  if (client === 'postgres.js') {
    const reserved = await (pool as postgresJs.Sql).reserve();
    return { connection: reserved as never, end: () => undefined };
  }
  const own = new Client({ connectionString: url });
  own.on('error', () => undefined);
  await own.connect();
  const { stream } = (own as unknown as { connection: { stream: { destroy(): void } } }).connection;
  return { connection: own as never, end: () => stream.destroy() };
}

/** With this a server says that it has let a client in. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

/** Commands of the program: they end, and say so. */
function commands({ postgres: url, schema }: RealServers): readonly BoundedCall[] {
  const env = { PGCONNECT_TIMEOUT: '2', HOLDFAST_STATEMENT_TIMEOUT: '2' };
  const run = async (argv: readonly string[], through: string): Promise<string> => {
    const { code, out, err } = await runHere([...argv, '--url', through, '--schema', schema], { env });
    return `${String(code)} ${/did not answer|cannot be reached/.exec(out + err)?.[0] ?? out + err}`;
  };
  const cold: BoundedCall = {
    call: 'holdfast <command>',
    variant: 'connecting',
    ends: '1 did not answer',
    run: (peer) => run(['dlq:list'], urlThrough(url, peer)),
  };
  const warm = (argv: readonly string[]): BoundedCall => {
    let way: SilentPeer | undefined;
    return {
      call: 'holdfast <command>',
      variant: argv.join(' '),
      ends: '1 did not answer',
      run: async () => {
        way = await silentWay(url, READY);
        return run(argv, urlThrough(url, way));
      },
      end: () => way?.close(),
    };
  };
  return [cold, warm(['doctor']), warm(['migrate']), warm(['dlq:list'])];
}
