import { OptionCheck } from '../kernel/check-options.ts';
import type { TransactionAdapter } from '../postgres/transaction-adapter.ts';
import { EffectPool } from './effect-pool.ts';
import { EnclosedClient } from './enclosed-client.ts';

/** pg: a `Pool`. */
export interface PgPool {
  readonly totalCount: number;
  readonly options: object;
  connect(): Promise<{ release(): void }>;
}

/** An adapter for an ORM that takes its connections from a pool of pg. It is made once, over a pool that has them in effects only. */
export function pooled<Orm, Tx>(
  of: string,
  make: (pool: never) => Orm,
  transact: (orm: Orm, work: (tx: Tx) => Promise<void>) => Promise<unknown>,
): TransactionAdapter<PgPool, Tx> {
  const over: TransactionAdapter<PgPool, Tx>['over'] = (pool) => {
    checkPgPool(of, pool);
    const effects = new EffectPool(pool);
    const orm = make(effects.pool as never);
    return async (native, work) => {
      const enclosed = new EnclosedClient(native as object);
      return effects.lending(enclosed.client, () =>
        enclosed.run<Tx, never>((inside) => transact(orm, inside), work as never),
      );
    };
  };
  return { over };
}

/** Refuses a pool of another client, for those who do not go by the types. */
export function checkPgPool(of: string, pool: unknown): void {
  if (typeof (pool as { readonly totalCount?: unknown }).totalCount === 'number') return;
  const check = new OptionCheck(of);
  check.refuse('pool', pool, 'give the store a pg Pool: this ORM works over pg');
  check.done();
}
