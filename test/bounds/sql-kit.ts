import { Client, Pool } from 'pg';
import postgresJs from 'postgres';
import type { BoundedCall, RealServers } from './bounded-call.ts';
import { type SilentPeer, silentWay } from './silent-peer.ts';

const POOL_SIZE = 4;

export type SqlClient = 'pg' | 'postgres.js';

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
      // oxlint-disable-next-line no-underscore-dangle -- it has no other way to cut its connections
      for (const { connection } of inside._clients) connection.stream.destroy();
      void pool.end().catch(() => undefined);
    },
  };
}

/** Makes a call. */
export type MakeCall = (
  about: Pick<BoundedCall, 'call' | 'ends'> & { readonly isWarm?: boolean },
  use: (pool: never, way: SilentPeer) => Promise<string>,
) => BoundedCall;

/** Makes calls with a pool of the application's, to a server that never answers or through a way that falls silent. */
export function callsThrough(client: SqlClient, servers: RealServers): MakeCall {
  return (about, use) => {
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
        if (way) await untilFew(way, client).finally(() => way?.close());
      },
    };
  };
}

/** The same address, through a way. */
export function urlThrough(url: string, { port }: SilentPeer): string {
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

/** Runs work in a transaction of the pool. */
export async function inTransaction<T>(client: SqlClient, pool: never, work: (tx: never) => Promise<T>): Promise<T> {
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

/** A connection of the application's own. */
export async function connectionOf(
  client: SqlClient,
  pool: never,
  url: string,
): Promise<{ readonly connection: never; end(): void }> {
  if (client === 'postgres.js') {
    const sql = pool as postgresJs.Sql;
    // It reserves a connection that is open; for one that must be opened it may never answer.
    await sql`select 1`;
    const reserved = await sql.reserve();
    return { connection: reserved as never, end: () => undefined };
  }
  const own = new Client({ connectionString: url });
  own.on('error', () => undefined);
  await own.connect();
  const { stream } = (own as unknown as { connection: { stream: { destroy(): void } } }).connection;
  return { connection: own as never, end: () => stream.destroy() };
}
