import type { TransactionAdapter } from '../postgres/transaction-adapter.ts';
import { type PgPool, pooled } from './pooled.ts';

/** What we use of a database of Kysely. */
export interface KyselyLike<Tx extends KyselyTransactionLike> {
  startTransaction(): { execute(): Promise<Tx> };
}

/** What we use of a transaction of Kysely. */
export interface KyselyTransactionLike {
  commit(): { execute(): Promise<void> };
  rollback(): { execute(): Promise<void> };
}

/**
 * Handlers get a `ControlledTransaction` of Kysely, which has `savepoint`:
 * `wrap: kyselyTx((pool) => new Kysely<Database>({ dialect: new PostgresDialect({ pool }) }))`. The function is called once; what it
 * makes works in effects only. `pool` has the type that fits every dialect.
 */
export function kyselyTx<Tx extends KyselyTransactionLike>(
  make: (pool: never) => KyselyLike<Tx>,
): TransactionAdapter<PgPool, Tx> {
  return pooled('kyselyTx()', make, async (db, work) => {
    const trx = await db.startTransaction().execute();
    try {
      await work(trx);
    } catch (error) {
      await trx.rollback().execute();
      throw error;
    }
    await trx.commit().execute();
  });
}
