import type { TransactionAdapter, Within } from '../postgres/transaction-adapter.ts';
import type { SqlPool } from '../postgres/driver/find-driver.ts';
import { EnclosedClient } from './enclosed-client.ts';

/** What we use of a database of Drizzle. */
export interface DrizzleLike<Tx> {
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
}

/** What Drizzle uses of a client besides its statements. */
interface NativeLike {
  readonly options?: unknown;
}

/**
 * Handlers get the `tx` of Drizzle: `wrap: drizzleTx((client) => drizzle(client, { schema }))`, with the `drizzle` of
 * `drizzle-orm/node-postgres`, `drizzle-orm/postgres-js` or `drizzle-orm/pglite`. Its `tx.transaction()` is a savepoint.
 * `client` has the type that fits them all.
 */
export function drizzleTx<Tx>(make: (client: never) => DrizzleLike<Tx>): TransactionAdapter<SqlPool, Tx> {
  const over = (pool: SqlPool): Within<Tx> => {
    // Of a pg client Drizzle begins by text, of the others by a method.
    if ('totalCount' in pool) {
      return async (native, work) => {
        const enclosed = new EnclosedClient(native as object);
        const db = make(enclosed.client as never);
        return enclosed.run((inside) => db.transaction(inside), work);
      };
    }
    const { options } = pool as NativeLike;
    return async (native, work) => {
      const begun = async <T>(inside: (tx: unknown) => Promise<T>): Promise<T> => inside(native);
      const own: Readonly<Record<PropertyKey, unknown>> = { options, begin: begun, transaction: begun };
      const client = new Proxy(native as object, {
        get: (target, name): unknown => (Object.hasOwn(own, name) ? own[name] : Reflect.get(target, name)),
      });
      return make(client as never).transaction(work);
    };
  };
  return { over };
}
