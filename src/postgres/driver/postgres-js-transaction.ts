import type { Effects } from '../../kernel/effects.ts';
import { HoldfastError, isHoldfastError } from '../../kernel/error.ts';
import { ConnectionLost } from './driver.ts';
import { StatementActivity } from './statement-activity.ts';
import { withinLimit } from './time-limit.ts';

/** A statement of postgres.js: it is handed to `handler` when somebody first waits for it, which may be long after it was made. */
interface Statement extends Promise<unknown> {
  handler: ((statement: Statement) => unknown) & { readonly debug?: unknown };
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
}

type Method = (...args: readonly unknown[]) => unknown;

/** What we use of the `sql` that `postgres()` makes. */
export interface PostgresJsBegin<Sql> {
  begin<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
}

/**
 * One `sql.begin` that survives the loss of its connection. postgres.js keeps the object of a lost connection and opens it
 * again for whoever comes next: what goes on after the loss would send its statements, and `begin` its commit or rollback, into
 * the transaction of somebody else, or to a socket that is gone, which ends the process. So after a loss nothing more is
 * sent: statements are refused, and `begin` is never told how the function ended.
 */
export class PostgresJsTransaction<Sql extends Method> {
  readonly activity: StatementActivity;
  readonly #effects: Effects;
  readonly #answerMs: number;
  /** Rejects when the server was silent for too long: postgres.js would wait for ever. */
  readonly #silent = Promise.withResolvers<never>();
  #timer: unknown;
  #isOpen = true;
  #isLost = false;
  #stage: 'opening' | 'running' | 'failed' | 'committing' = 'opening';

  /** `answerMs` is how long the server may take to begin, to commit and to roll back. */
  constructor(effects: Effects, answerMs: number) {
    this.activity = new StatementActivity(effects);
    this.#effects = effects;
    this.#answerMs = answerMs;
    this.#silent.promise.catch(() => undefined);
  }

  /** The connection is gone, or counts as gone: what is sent to it reaches nobody, or somebody else. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** What `work` gives, committed. Rejects with what it or the commit threw, or with `ConnectionLost`. */
  async run<T>(sql: PostgresJsBegin<Sql>, work: (tx: Sql) => Promise<T>): Promise<T> {
    let thrown: unknown;
    try {
      this.#expectAnswer();
      const begun = sql.begin(async (tx) => {
        // A connection that comes when nobody waits for it any more: begin rolls back, and has it for others.
        if (this.#stage === 'opening' && !this.#isOpen) throw new Error('the transaction was given up');
        return this.#unlessLost(async () => {
          this.#stage = 'running';
          this.#effects.clearTimer(this.#timer);
          try {
            const result = await work(this.#guarded(tx));
            this.#stage = 'committing';
            return result;
          } catch (error) {
            thrown = error;
            this.#stage = 'failed';
            throw error;
          } finally {
            this.#expectAnswer();
          }
        });
      });
      begun.catch(() => undefined);
      return await Promise.race([begun, this.#silent.promise]);
    } catch (error) {
      // While the function runs, nothing but the loss of the connection ends it.
      this.#isLost ||= this.#stage === 'opening' || this.#stage === 'running';
      this.#isLost ||= this.#stage === 'committing' && isLoss(error);
      if (this.#isLost) throw new ConnectionLost('connection lost', { cause: error });
      // A connection lost in the rollback changes nothing: nothing was kept.
      throw this.#stage === 'failed' && (isLoss(error) || isHoldfastError(error, 'DATABASE_TIMEOUT')) ? thrown : error;
    } finally {
      this.#isOpen = false;
      this.#effects.clearTimer(this.#timer);
    }
  }

  /** What a statement of ours answers; where that takes too long the connection counts as lost. */
  within<T>(answer: Promise<T>): Promise<T> {
    return withinLimit(this.#effects, answer, () => this.#giveUp(), this.#answerMs);
  }

  #expectAnswer(): void {
    this.#effects.clearTimer(this.#timer);
    if (this.#isOpen && !this.#isLost) this.#timer = this.#effects.setTimer(() => this.#giveUp(), this.#answerMs);
  }

  #giveUp(): void {
    if (this.#stage !== 'failed') this.#isLost = true;
    this.#silent.reject(new HoldfastError('DATABASE_TIMEOUT', { timeoutMs: this.#answerMs }));
  }

  /** No more statements: what is still to come of the function is refused, and rolled back. */
  refuse(): void {
    this.#isOpen = false;
  }

  /** How a function ends, for postgres.js; never, once the connection is lost. */
  async #unlessLost<T>(work: () => Promise<T>): Promise<T> {
    const never = new Promise<never>(() => undefined);
    try {
      const result = await work();
      return this.#isLost ? await never : result;
    } catch (error) {
      if (this.#isLost) await never;
      throw error;
    }
  }

  /** The same `sql`, with every statement under watch. */
  #guarded(tx: Sql): Sql {
    return new Proxy(tx, {
      apply: (target, self, args: unknown[]) => this.#watched(Reflect.apply(target, self, args)),
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        const method = value as Method;
        if (name === 'savepoint') return this.#savepoint(method);
        if (name === 'unsafe' || name === 'file') return (...args: unknown[]) => this.#watched(method(...args));
        return method;
      },
    });
  }

  #savepoint(savepoint: Method): Method {
    return (...args) => {
      const work = args.at(-1);
      // As a tag it is one statement.
      const inside = typeof work === 'function' ? (work as (tx: Sql) => unknown) : (tx: Sql): unknown => tx(...args);
      const name = typeof work === 'function' ? args.slice(0, -1) : [];
      const guardedWork = (tx: Sql): Promise<unknown> =>
        this.#unlessLost(async () => {
          const result = inside(this.#guarded(tx));
          return Array.isArray(result) ? Promise.all(result) : result;
        });
      return savepoint(...name, guardedWork);
    };
  }

  #watched(made: unknown): unknown {
    if (!isStatement(made)) return made;
    const { handler } = made;
    const watch = (statement: Statement): unknown => {
      if (!this.#isOpen || this.#isLost) {
        return statement.reject(new HoldfastError('TRANSACTION_NOT_OPEN', { client: 'postgres.js' }));
      }
      this.#observe(statement);
      return handler(statement);
    };
    made.handler = Object.assign(watch, { debug: handler.debug });
    return made;
  }

  #observe(statement: Statement): void {
    let isOver = false;
    const ended = (): void => {
      // A lost connection tells its last statement twice.
      if (!isOver) this.activity.ended();
      isOver = true;
    };
    this.activity.begun();
    onCall(statement, 'resolve', ended);
    onCall(statement, 'reject', (error) => {
      ended();
      this.#isLost ||= isLoss(error) || isSocketError(error);
    });
  }
}

/**
 * Calls `heard` before each call of the method, whichever it is by then: a cursor puts others there for each part. Not by
 * `then`: whoever waits for the statement would go on before we know that its connection is lost, and of a cursor it tells nothing.
 */
function onCall(statement: Statement, name: 'resolve' | 'reject', heard: (value: unknown) => void): void {
  let method = statement[name];
  const heardFirst = (value: unknown): void => {
    heard(value);
    method(value);
  };
  void Object.defineProperty(statement, name, {
    get: () => heardFirst,
    set: (next: typeof method) => {
      method = next;
    },
  });
}

function isStatement(value: unknown): value is Statement {
  return value instanceof Promise && 'handler' in value && typeof value.handler === 'function' && 'reject' in value;
}

/**
 * By the codes of postgres.js, and those of a server that goes away. Not a mere error of the server: such codes also come from another one
 * behind it (postgres_fdw, dblink), and the session goes on. Taken for a loss, its connection would be held until the server ends it.
 */
function isLoss(error: unknown): boolean {
  const isSessionAlive = (error as { readonly severity?: unknown } | null)?.severity === 'ERROR';
  return !isSessionAlive && /^(CONNECTION_|CONNECT_TIMEOUT|57P0|08)/.test(codeOf(error));
}

/** Only of a statement: a call of the application's may fail alike. */
function isSocketError(error: unknown): boolean {
  return /^(ECONN|EPIPE|ETIMEDOUT|ENET|EHOST|ENOTCONN|EPROTO|ERR_SSL|ERR_STREAM|ERR_TLS)/.test(codeOf(error));
}

function codeOf(error: unknown): string {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : '';
}
