import type { TransactionAdapter } from '../postgres/transaction-adapter.ts';
import { type PgPool, pooled } from './pooled.ts';

/** What we use of a client of Prisma. */
export interface PrismaLike<Tx> {
  $transaction<T>(
    work: (tx: Tx) => Promise<T>,
    options?: { readonly maxWait?: number; readonly timeout?: number },
  ): Promise<T>;
}

// Prisma ends a transaction after five seconds. How long an effect may take is said elsewhere.
const NO_LIMIT = { maxWait: 2 ** 31 - 1, timeout: 2 ** 31 - 1 };

/**
 * Handlers get the `tx` of Prisma: `wrap: prismaTx((pool) => new PrismaClient({ adapter: new PrismaPg(pool) }))`. Its
 * `tx.$transaction()` is a savepoint. The function is called once; the client it makes works in effects only.
 */
export function prismaTx<Tx>(make: (pool: never) => PrismaLike<Tx>): TransactionAdapter<PgPool, Tx> {
  return pooled('prismaTx()', make, (prisma, work) => prisma.$transaction(work, NO_LIMIT));
}
