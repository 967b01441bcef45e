import type { Effects } from '../../kernel/effects.ts';
import { guardPostgresJs } from '../guard/postgres-js-guard.ts';
import { PostgresJsOpen } from '../guard/postgres-js-open.ts';
import { RenewedGate } from '../guard/renewed-gate.ts';
import { encodeParam, type SqlParam } from '../sql-runner.ts';
import { ConnectionLost, type Driver, type Link, type Query, type Row } from './driver.ts';
import { rowsOf } from './postgres-js-rows.ts';
import { type PostgresJsBegin, PostgresJsTransaction } from './postgres-js-transaction.ts';
import { ANSWER_TIMEOUT_MS, withinLimit } from './time-limit.ts';
import { limitStatements, restedTooLong, restLimit, UNLOCK_SESSION } from './transaction-limits.ts';
import { Turns } from './turns.ts';

interface Pending extends PromiseLike<unknown> {
  values(): Promise<readonly Row[]>;
  /** What its `cancel` calls. */
  canceller: ((statement: Pending) => Promise<unknown>) | null;
}

/** What we use of any postgres.js `sql`. */
interface Sql {
  (...args: readonly unknown[]): unknown;
  unsafe(text: string, params?: (string | null)[]): Pending;
}

/** What we use of the `sql` that `postgres()` makes. */
export interface PostgresJsInside extends Sql, PostgresJsBegin<Sql> {
  readonly listen: {
    (channel: string, onNotify: (payload: string) => void): Promise<{ unlisten(): Promise<unknown> }>;
    /** Its pool of one connection, which all listening goes over; made by the first call. Not documented: it may be missing. */
    readonly sql?: Sql;
  };
  /** What the function of a cursor returns to end it. */
  readonly CLOSE?: unknown;
}

// The server counts from when it has answered, this process from when it has read that.
const NEARLY = 0.9;

const nothing = (): undefined => undefined;

// From a server that has fallen silent no goodbye comes.
const GOODBYE_MS = 1_000;

/**
 * postgres.js. It makes no connection outside its pool, so each call takes one of the pool's. Not by `reserve`: that never
 * answers where a connection must be opened again.
 */
export function postgresJsDriver(
  sql: PostgresJsInside,
  effects: Effects,
  answerMs: number = ANSWER_TIMEOUT_MS,
): Driver<unknown> {
  return {
    link: () => new PostgresJsLink(sql, effects, answerMs),
    transaction: async (restMs, effect, complete) => {
      const transaction = new PostgresJsTransaction<Sql>(effects, answerMs);
      let shut = nothing as () => void;
      const rested = Promise.withResolvers<never>();
      rested.promise.catch(nothing);
      const rest = { restMs, onRest: () => rested.reject(restedTooLong(restMs)) };
      try {
        return await transaction.run(sql, async (tx) => {
          // Of our own statements only: how long the application's may take is its own affair.
          const ours: Query = (text, params) => transaction.within(queryOn(tx)(text, params));
          await ours(limitStatements(restMs));
          const gates = new RenewedGate('postgres.js', (gate) => {
            const open = new PostgresJsOpen(gate, { effects, rest }, sql.CLOSE, () => transaction.isLost);
            return { tx: guardPostgresJs(tx, gate, open), finish: () => open.finish(), open };
          });
          shut = () => gates.shut();
          try {
            const result = await Promise.race([effect(gates.guarded.tx, gates.renew), rested.promise]);
            await gates.end();
            shut();
            return await complete(ours, result);
          } catch (error) {
            shut();
            await gates.guarded.finish().catch(nothing);
            // In the transaction that postgres.js will roll back: after that the connection is another's.
            const unlock = (): Promise<unknown> => queryOn(tx)(`rollback and chain; ${UNLOCK_SESSION}`);
            if (!gates.guarded.open.isBusy) await withinLimit(effects, unlock(), nothing, answerMs).catch(nothing);
            throw error;
          }
        });
      } catch (error) {
        shut();
        // It keeps to itself why the server ended the session.
        const isRested = error instanceof ConnectionLost && transaction.activity.restedMs >= restMs * NEARLY;
        throw isRested ? restedTooLong(restMs, error) : error;
      }
    },
    listen: async (channel, onNotify) => {
      // It listens again by itself when its connection is lost.
      const opening = sql.listen(channel, onNotify);
      const giveUp = (): void => void opening.then((late) => late.unlisten()).catch(() => undefined);
      const listening = await withinLimit(effects, opening, giveUp, answerMs);
      const own = sql.listen.sql;
      return {
        ...(own && { query: (text, params) => withinLimit(effects, queryOn(own)(text, params), nothing, answerMs) }),
        close: async () => withinLimit(effects, listening.unlisten(), nothing, GOODBYE_MS).then(nothing, nothing),
      };
    },
  };
}

function queryOn(sql: Sql): Query {
  return async (text, params) => {
    if (params !== undefined) return rowsOf(await sql.unsafe(text, params.map(encodeParam)).values());
    await sql.unsafe(text);
    return [];
  };
}

/**
 * Breaks a statement off. Not by its own `cancel`: that drops the promise of the canceller, which rejects where the server is gone by
 * now, and a rejection that nobody hears ends the process.
 */
function cancel(pending: Pending): void {
  const { canceller } = pending;
  pending.canceller = null;
  canceller?.(pending).catch(() => undefined);
}

class PostgresJsLink implements Link {
  readonly #sql: PostgresJsInside;
  readonly #effects: Effects;
  readonly #answerMs: number;
  readonly #turns = new Turns();
  #isClosed = false;

  constructor(sql: PostgresJsInside, effects: Effects, answerMs: number) {
    this.#sql = sql;
    this.#effects = effects;
    this.#answerMs = answerMs;
  }

  readonly query: Query = (text, params = []) => this.#turns.run(() => this.#query(text, params));

  transaction<T>(work: (query: Query) => Promise<T>): Promise<T> {
    return this.#turns.run(() => {
      this.#refuseIfClosed();
      const transaction = new PostgresJsTransaction<Sql>(this.#effects, this.#answerMs);
      const result = transaction.run(this.#sql, async (tx) => {
        await queryOn(tx)(restLimit(this.#answerMs));
        return work(queryOn(tx));
      });
      return withinLimit(this.#effects, result, () => transaction.refuse(), this.#answerMs);
    });
  }

  close(): Promise<void> {
    this.#isClosed = true;
    return Promise.resolve();
  }

  async #query(text: string, params: readonly SqlParam[]): Promise<readonly Row[]> {
    this.#refuseIfClosed();
    const pending = this.#sql.unsafe(text, params.map(encodeParam));
    return rowsOf(await withinLimit(this.#effects, pending.values(), () => cancel(pending), this.#answerMs));
  }

  #refuseIfClosed(): void {
    if (this.#isClosed) throw new Error('this connection was closed');
  }
}
