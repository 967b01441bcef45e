import type { TransactionAdapter } from '../postgres/transaction-adapter.ts';
import { type PgPool, pooled } from './pooled.ts';

/** What we use of MikroORM. */
export interface MikroOrmLike<Em> {
  readonly em: { fork(): { transactional<T>(work: (em: Em) => Promise<T>): Promise<T> } };
}

/**
 * Handlers get an entity manager of MikroORM, flushed when the handler returns:
 * `wrap: mikroOrmTx((pool) => new MikroORM({ ...config, driverOptions: new PostgresDialect({ pool }) }))`. Its `em.transactional()` is a
 * savepoint. The function is called once; what it makes works in effects only.
 */
export function mikroOrmTx<Em>(make: (pool: never) => MikroOrmLike<Em>): TransactionAdapter<PgPool, Em> {
  return pooled('mikroOrmTx()', make, (orm, work) => orm.em.fork().transactional(work));
}
