import type { Effects } from '../../kernel/effects.ts';
import { encodeParam, type SqlParam } from '../sql-runner.ts';
import { ConnectionLost, type Driver, type Link, type Query, type Row } from './driver.ts';
import { withinLimit } from './time-limit.ts';
import { Turns } from './turns.ts';

interface Pending extends PromiseLike<unknown> {
  values(): Promise<readonly Row[]>;
  cancel(): unknown;
}

/** What we use of any postgres.js `sql`. */
interface Sql {
  unsafe(text: string, params?: (string | null)[]): Pending;
}

/** What we use of the `sql` that `postgres()` makes. */
export interface PostgresJsInside extends Sql {
  begin<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  listen(channel: string, onNotify: (payload: string) => void): Promise<{ unlisten(): Promise<unknown> }>;
}

/**
 * postgres.js. It makes no connection outside its pool, so each call takes one of the pool's. Not by `reserve`: that never
 * answers where a connection must be opened again.
 */
export function postgresJsDriver(sql: PostgresJsInside, effects: Effects): Driver<unknown> {
  return {
    link: () => new PostgresJsLink(sql, effects),
    transaction: (settings, work) =>
      sql
        .begin(async (tx) => {
          await queryOn(tx)(settings);
          return work(tx, queryOn(tx));
        })
        .catch((error: unknown) => {
          throw isLoss(error) ? new ConnectionLost('connection lost', { cause: error }) : error;
        }),
    listen: async (channel, onNotify) => {
      // It listens again by itself when its connection is lost.
      const listening = await sql.listen(channel, onNotify);
      return { close: async () => void (await listening.unlisten().catch(() => undefined)) };
    },
  };
}

/** By its own codes, and those of a server that goes away. A call of the application's may fail with a socket's. */
function isLoss(error: unknown): boolean {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^(CONNECTION_|CONNECT_TIMEOUT|57P0|08)/.test(code);
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
      return withinLimit(
        this.#effects,
        this.#sql.begin((tx) => work(queryOn(tx))),
        () => undefined,
      );
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
