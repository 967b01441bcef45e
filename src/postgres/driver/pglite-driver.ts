import type { Effects } from '../../kernel/effects.ts';
import { guardPglite } from '../guard/pglite-guard.ts';
import { RenewedGate } from '../guard/renewed-gate.ts';
import { encodeParam } from '../sql-runner.ts';
import type { Driver, Query, Row } from './driver.ts';
import { StatementActivity } from './statement-activity.ts';
import { limitStatements, READ_COMMITTED, restedTooLong } from './transaction-limits.ts';
import { Turns } from './turns.ts';

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

// Of what a session may rest elsewhere. The heartbeat waits for the effect here: it must come before the lease runs out.
const REST_PART = 0.5;

/**
 * PGlite: one connection for everything, in this process. It orders its own calls, and has no network to lose, nor a server
 * that would end what rests inside a transaction.
 */
export function pgliteDriver(db: PgliteInside, effects: Effects): Driver<unknown> {
  // One effect at a time stands in its line, so that heartbeats and results come between two of them.
  const turns = new Turns();
  return {
    link: () => {
      let isClosed = false;
      const open = (): PgliteInside => {
        if (isClosed) throw new Error('this connection was closed');
        return db;
      };
      return {
        query: async (text, params) => queryOn(open())(text, params),
        transaction: async (work) =>
          open().transaction(async (tx) => {
            await tx.exec(READ_COMMITTED);
            return work(queryOn(tx));
          }),
        close: () => {
          isClosed = true;
          return Promise.resolve();
        },
      };
    },
    transaction: (restMs, effect, complete) =>
      turns.run(() =>
        db.transaction(async (native) => {
          await native.exec(limitStatements(restMs));
          const activity = new StatementActivity(effects);
          const gates = new RenewedGate('pglite', (gate) => {
            return { tx: guardPglite(watched(native, activity), gate), finish: () => Promise.resolve() };
          });
          const limitMs = restMs * REST_PART;
          try {
            const effected = effect(gates.guarded.tx, gates.renew);
            const result = await activity.within(limitMs, effected, () => restedTooLong(limitMs));
            await gates.end();
            return await complete(queryOn(native), result);
          } finally {
            gates.shut();
          }
        }),
      ),
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

/** The same transaction, with every statement under watch. */
function watched(tx: Pglite, activity: StatementActivity): Pglite {
  return new Proxy(tx, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return async (...args: unknown[]): Promise<unknown> => {
        activity.begun();
        try {
          return await (Reflect.apply(value, target, args) as Promise<unknown>);
        } finally {
          activity.ended();
        }
      };
    },
  });
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
