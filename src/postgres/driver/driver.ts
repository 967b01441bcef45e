import type { SqlParam } from '../sql-runner.ts';

/**
 * Runs one statement and answers its rows as arrays, in the order of the columns. Parameters travel as text, as
 * `sql-runner.ts` describes. Numbers come as number, bigint or text, whatever the client makes of them: read them with
 * `Number`. Select anything but numbers, text and uuid as `::text`. Without parameters, not even none (`[]`), the text may hold
 * several statements, and no rows are answered.
 */
export type Query = (text: string, params?: readonly SqlParam[]) => Promise<readonly Row[]>;

export type Row = readonly unknown[];

/**
 * A way to the database that is not shared with the application's statements. Calls run one after the other. A call that
 * is not answered in time rejects with `DATABASE_TIMEOUT`, and what carried it is given up; the next call opens anew.
 */
export interface Link {
  readonly query: Query;
  /** Between `begin` and `commit`; rolled back when `work` throws. */
  transaction<T>(work: (query: Query) => Promise<T>): Promise<T>;
  /** May be called twice. Calls after it reject. */
  close(): Promise<void>;
}

/** A channel that is listened to. */
export interface Subscription {
  /** Runs on the connection that listens, which nobody else uses. Absent where the client does not say which that is. */
  readonly query?: Query;
  /** May be called twice. */
  close(): Promise<void>;
}

/** What the store needs from a client library. `Native` is what it calls a transaction. */
export interface Driver<Native> {
  /** Opens nothing yet: the connection is made by the first call. */
  link(): Link;
  /** How many connections of links were lost so far; absent where the client keeps that to itself. */
  losses?(): number;
  /**
   * On the application's own pool: the effect, which is foreign code, and then `complete` in the same transaction, which is ours.
   * Rejects with what they or the commit threw, or with `ConnectionLost` when it never had a connection or lost it. When nothing
   * was asked of it for `restMs` (PGlite: half of that) the transaction is rolled back, the effect is given up and it rejects with
   * `TRANSACTION_RESTED`. `tx` is guarded: it refuses what would end the transaction with `TRANSACTION_CONTROL`, and everything with
   * `TRANSACTION_NOT_OPEN` once the effect has ended, however it ended. `renew` ends it before, and gives another for what comes next
   * in the same transaction: what one forgot to await must not reach the work of the next.
   */
  transaction<R, T>(
    restMs: number,
    effect: (tx: Native, renew: () => Promise<Native>) => Promise<R>,
    complete: (query: Query, result: R) => Promise<T>,
  ): Promise<T>;
  /** `onLost` is called once, when notifications can no longer arrive. */
  listen(channel: string, onNotify: (payload: string) => void, onLost: () => void): Promise<Subscription>;
}

/** The connection of a transaction was lost, or there was none to be had: nobody is to blame but the way to the database. */
export class ConnectionLost extends Error {}
