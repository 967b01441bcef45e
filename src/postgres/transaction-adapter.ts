import { HoldfastError, isHoldfastError } from '../kernel/error.ts';

/** Runs `work` with an ORM's transaction that lies on the one of an effect, `native`. Ends neither: that is up to the store. */
export type Within<Tx> = <T>(native: unknown, work: (tx: Tx) => Promise<T>) => Promise<T>;

/**
 * Gives handlers the transaction of an ORM, in the ORM's own types. Made by `drizzleTx`, `kyselyTx`, `knexTx`, `prismaTx`,
 * `typeOrmTx` and `mikroOrmTx` of `holdfast/orm`; pass it as `wrap`.
 */
export interface TransactionAdapter<Pool, Tx> {
  /** Called once for each store, with the pool that its handlers commit through. */
  readonly over: (pool: Pool) => Within<Tx>;
}

/** What `wrap` may be: a function of the client's transaction, or an adapter. */
export type Wrap<Pool, Native, Tx> = ((tx: Native) => Tx) | TransactionAdapter<Pool, Tx>;

/** Whether this can be a `wrap`. */
export function isWrap(value: unknown): boolean {
  return typeof value === 'function' || typeof (value as { readonly over?: unknown } | null)?.over === 'function';
}

/** What to say when it cannot. */
export const WRAP_ADVICE = 'pass a function of the transaction, or an adapter of holdfast/orm';

/** How effects run on a pool: with the client's own transaction unless `wrap` says otherwise. */
export function withinOf<Pool, Tx>(pool: Pool, wrap: Wrap<Pool, never, Tx> | undefined): Within<Tx> {
  const wrapped = (wrap ?? ((native: unknown) => native)) as (native: unknown) => Tx;
  const within: Within<Tx> = typeof wrap === 'object' ? wrap.over(pool) : async (native, work) => work(wrapped(native));
  return async (native, work) => {
    let isCalled = false;
    try {
      return await within(native, (tx) => {
        isCalled = true;
        return work(tx);
      });
    } catch (error) {
      if (!isCalled) throw new HoldfastError('WRAP_FAILED', {}, { cause: error });
      throw refusalIn(error) ?? error;
    }
  };
}

/** What the guarded transaction said below an ORM's own error: that it was refused is final, and not to be tried again. */
function refusalIn(error: unknown): HoldfastError | undefined {
  let at = error;
  for (let depth = 0; at instanceof Error && depth < 5; depth += 1) {
    if (isHoldfastError(at, 'TRANSACTION_CONTROL')) return at;
    at = at.cause ?? (at as { driverError?: unknown }).driverError;
  }
  return undefined;
}
