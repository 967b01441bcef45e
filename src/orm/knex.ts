import type { TransactionAdapter, Within } from '../postgres/transaction-adapter.ts';
import { EnclosedClient } from './enclosed-client.ts';
import { checkPgPool, type PgPool } from './pooled.ts';

/** What we use of Knex. */
export interface KnexLike<Trx> {
  transaction<T>(work: (trx: Trx) => Promise<T>, config?: { readonly connection?: unknown }): Promise<T>;
}

/**
 * Handlers get the `trx` of Knex: `wrap: knexTx(knex)`, with the one you have, or `knex({ client: 'pg' })`. Its `trx.transaction()` is a
 * savepoint. The store's `pool` is a pg Pool beside it: that of Knex has no connections that listen.
 */
export function knexTx<Trx>(knex: KnexLike<Trx>): TransactionAdapter<PgPool, Trx> {
  const over = (pool: PgPool): Within<Trx> => {
    checkPgPool('knexTx()', pool);
    return async (native, work) => {
      const enclosed = new EnclosedClient(native as object);
      return enclosed.run((inside) => knex.transaction(inside, { connection: enclosed.client }), work);
    };
  };
  return { over };
}
