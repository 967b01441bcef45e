import { encodeParam } from '../sql-runner.ts';
import type { Driver, Query, Row } from './driver.ts';

/** What we use of a PGlite database or transaction. */
interface Pglite {
  query(text: string, params: (string | null)[], options: object): Promise<{ readonly rows: readonly unknown[] }>;
  exec(text: string): Promise<unknown>;
}

/** What we use of a PGlite database. */
export interface PgliteInside extends Pglite {
  transaction<T>(work: (tx: Pglite) => Promise<T>): Promise<T>;
  listen(channel: string, onNotify: (payload: string) => void): Promise<(() => Promise<void>) | undefined>;
}

/** PGlite: one connection for everything, in this process. It orders its own calls, and has no network to lose. */
export function pgliteDriver(db: PgliteInside): Driver<unknown> {
  return {
    link: () => {
      let isClosed = false;
      const open = (): PgliteInside => {
        if (isClosed) throw new Error('this connection was closed');
        return db;
      };
      return {
        query: async (text, params) => queryOn(open())(text, params),
        transaction: async (work) => open().transaction((tx) => work(queryOn(tx))),
        close: () => {
          isClosed = true;
          return Promise.resolve();
        },
      };
    },
    transaction: (settings, work) =>
      db.transaction(async (tx) => {
        await tx.exec(settings);
        return work(tx, queryOn(tx));
      }),
    listen: async (channel, onNotify) => {
      const unlisten = await db.listen(channel, onNotify);
      let isOver = false;
      return {
        close: async () => {
          if (!isOver) await unlisten?.();
          isOver = true;
        },
      };
    },
  };
}

function queryOn(db: Pglite): Query {
  return async (text, params) => {
    if (params !== undefined) {
      const { rows } = await db.query(text, params.map(encodeParam), { rowMode: 'array' });
      return rows as readonly Row[];
    }
    await db.exec(text);
    return [];
  };
}
