import type { Effects } from '../../kernel/effects.ts';
import { encodeParam, type SqlParam } from '../sql-runner.ts';
import { ConnectionLost, type Driver, type Link, type Query, type Row } from './driver.ts';
import { type PostgresJsBegin, PostgresJsTransaction } from './postgres-js-transaction.ts';
import { withinLimit } from './time-limit.ts';
import { limitStatements, restedTooLong } from './transaction-limits.ts';
import { Turns } from './turns.ts';

interface Pending extends PromiseLike<unknown> {
  values(): Promise<readonly Row[]>;
  cancel(): unknown;
}

/** What we use of any postgres.js `sql`. */
interface Sql {
  (...args: readonly unknown[]): unknown;
  unsafe(text: string, params?: (string | null)[]): Pending;
}

/** What we use of the `sql` that `postgres()` makes. */
export interface PostgresJsInside extends Sql, PostgresJsBegin<Sql> {
  listen(channel: string, onNotify: (payload: string) => void): Promise<{ unlisten(): Promise<unknown> }>;
}

// The server counts from when it has answered, this process from when it has read that.
const NEARLY = 0.9;

/**
 * postgres.js. It makes no connection outside its pool, so each call takes one of the pool's. Not by `reserve`: that never
 * answers where a connection must be opened again.
 */
export function postgresJsDriver(sql: PostgresJsInside, effects: Effects): Driver<unknown> {
  return {
    link: () => new PostgresJsLink(sql, effects),
    transaction: async (restMs, work) => {
      const transaction = new PostgresJsTransaction<Sql>(effects);
      try {
        return await transaction.run(sql, async (tx) => {
          await queryOn(tx)(limitStatements(restMs));
          return work(tx, queryOn(tx));
        });
      } catch (error) {
        // It keeps to itself why the server ended the session.
        const isRested = error instanceof ConnectionLost && transaction.activity.restedMs >= restMs * NEARLY;
        throw isRested ? restedTooLong(restMs, error) : error;
      }
    },
    listen: async (channel, onNotify) => {
      // It listens again by itself when its connection is lost.
      const listening = await sql.listen(channel, onNotify);
      return { close: async () => void (await listening.unlisten().catch(() => undefined)) };
    },
  };
}

function queryOn(sql: Sql): Query {
  return async (text, params) => {
    if (params !== undefined) return sql.unsafe(text, params.map(encodeParam)).values();
    await sql.unsafe(text);
    return [];
  };
}

class PostgresJsLink implements Link {
  readonly #sql: PostgresJsInside;
  readonly #effects: Effects;
  readonly #turns = new Turns();
  #isClosed = false;

  constructor(sql: PostgresJsInside, effects: Effects) {
    this.#sql = sql;
    this.#effects = effects;
  }

  readonly query: Query = (text, params = []) => this.#turns.run(() => this.#query(text, params));

  transaction<T>(work: (query: Query) => Promise<T>): Promise<T> {
    return this.#turns.run(() => {
      this.#refuseIfClosed();
      const transaction = new PostgresJsTransaction<Sql>(this.#effects);
      const result = transaction.run(this.#sql, (tx) => work(queryOn(tx)));
      return withinLimit(this.#effects, result, () => transaction.refuse());
    });
  }

  close(): Promise<void> {
    this.#isClosed = true;
    return Promise.resolve();
  }

  async #query(text: string, params: readonly SqlParam[]): Promise<readonly Row[]> {
    this.#refuseIfClosed();
    const pending = this.#sql.unsafe(text, params.map(encodeParam));
    return withinLimit(this.#effects, pending.values(), () => void pending.cancel());
  }

  #refuseIfClosed(): void {
    if (this.#isClosed) throw new Error('this connection was closed');
  }
}
