import type { Effects } from '../../kernel/effects.ts';
import { HoldfastError } from '../../kernel/error.ts';
import { guardPg, type PgClientInside } from '../guard/pg-guard.ts';
import { RenewedGate } from '../guard/renewed-gate.ts';
import { encodeParam, type SqlParam } from '../sql-runner.ts';
import { ConnectionLost, type Driver, type Link, type Query, type Row, type Subscription } from './driver.ts';
import { isReadOnly, sqlStateOf } from './database-error.ts';
import { ANSWER_TIMEOUT_MS, withinLimit } from './time-limit.ts';
import { limitStatements, restedTooLong, restLimit, UNLOCK_SESSION } from './transaction-limits.ts';
import { Turns } from './turns.ts';

interface PgAnswer {
  readonly rows: readonly Row[];
  readonly command: string;
}

/** What we use of pg's `Client`. */
interface PgClient {
  connect(): Promise<unknown>;
  query(config: object): Promise<PgAnswer>;
  on(event: string, listener: (...args: never[]) => void): unknown;
  removeListener(event: string, listener: (...args: never[]) => void): unknown;
  end(): Promise<unknown>;
  /** Not there in the native client. */
  readonly connection?: { readonly stream?: { destroy(): unknown } };
}

interface PgPoolClient extends PgClient {
  release(error?: unknown): void;
}

/** What we use of pg's `Pool` besides its types: it keeps the class of its clients and their options. */
export interface PgPoolInside {
  readonly Client: new (options: object) => PgClient;
  readonly options: object;
  connect(done: (error: unknown, client: PgPoolClient | undefined) => void): void;
}

/** Opens a connection of our own. `onLost` may be called more than once. */
type Connect = (onLost: (client: PgClient) => void) => Promise<PgClient>;

// Values as the server wrote them: no parser of the application's applies to our rows, and nothing is converted twice.
const RAW = { getTypeParser: () => (value: unknown) => value };

// The server ends a session that rests inside a transaction for longer than its limit.
const RESTED_TOO_LONG = '25P03';

// A goodbye is a courtesy: the server notices a connection that is gone by itself.
const GOODBYE_MS = 1_000;

const nothing = (): void => undefined;

/** Whose timers count, and how long the server may take for an answer. */
interface Limits {
  readonly effects: Effects;
  readonly answerMs: number;
}

function limited<T>({ effects, answerMs }: Limits, work: Promise<T>, onTimeout: () => void): Promise<T> {
  return withinLimit(effects, work, onTimeout, answerMs);
}

/** pg. Our own connections are made as the pool makes its own, but outside it: a busy pool cannot hold up a heartbeat. */
export function pgDriver(pool: PgPoolInside, effects: Effects, answerMs: number = ANSWER_TIMEOUT_MS): Driver<unknown> {
  const limits: Limits = { effects, answerMs };
  const connect: Connect = async (onLost) => {
    const client = new pool.Client(pool.options);
    // A client without a listener for its errors ends the process.
    client.on('error', () => onLost(client));
    client.on('end', () => onLost(client));
    await limited(limits, client.connect(), nothing).catch((error: unknown) => {
      cut(client);
      throw error;
    });
    return client;
  };
  let losses = 0;
  return {
    link: () => new PgLink(connect, limits, () => (losses += 1)),
    losses: () => losses,
    transaction: (restMs, effect, complete) => pooledTransaction(pool, limits, restMs, { effect, complete }),
    listen: async (channel, onNotify, onLost) => listen(connect, limits, channel, onNotify, onLost),
  };
}

/** Says goodbye, and waits for the answer only so long: from a server that has fallen silent it never comes. */
async function end(client: PgClient, { effects }: Limits): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = effects.setTimer(resolve, GOODBYE_MS);
  await Promise.race([client.end().catch(nothing), late]);
  effects.clearTimer(timer);
  client.connection?.stream?.destroy();
}

/** Ends a connection that is of no use any more, at once. */
function cut(client: PgClient): void {
  void client.end().catch(nothing);
  client.connection?.stream?.destroy();
}

function queryOn(client: PgClient): Query {
  return async (text, params) => {
    if (params !== undefined) return (await client.query(configOf(text, params))).rows;
    await client.query({ text });
    return [];
  };
}

function configOf(text: string, params: readonly SqlParam[]): object {
  return { text, values: params.map(encodeParam), rowMode: 'array', types: RAW };
}

class PgLink implements Link {
  readonly #connect: Connect;
  readonly #limits: Limits;
  readonly #turns = new Turns();
  #client: PgClient | undefined;
  readonly #onLost: () => void;
  #isClosed = false;

  constructor(connect: Connect, limits: Limits, onLost: () => void) {
    this.#connect = connect;
    this.#limits = limits;
    this.#onLost = onLost;
  }

  readonly query: Query = (text, params) => this.#turns.run(() => this.#query(text, params));

  transaction<T>(work: (query: Query) => Promise<T>): Promise<T> {
    return this.#turns.run(async () => {
      await this.#query(`begin; ${restLimit(this.#limits.answerMs)}`);
      const client = this.#client;
      try {
        const result = await work((text, params) => this.#query(text, params, client));
        await this.#query('commit', undefined, client);
        return result;
      } catch (error) {
        if (this.#client === client) await this.#query('rollback', undefined, client).catch(() => this.#drop(client));
        throw error;
      }
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const client = this.#client;
    this.#client = undefined;
    if (client) await end(client, this.#limits);
  }

  /** On `only`, where a transaction is open on it: after a loss its rest must not run on another connection. */
  async #query(text: string, params?: readonly SqlParam[], only?: PgClient): Promise<readonly Row[]> {
    const client = this.#client ?? (await this.#open());
    if (only !== undefined && only !== client) throw new Error('the connection was lost within a transaction');
    try {
      return await limited(this.#limits, queryOn(client)(text, params), () => this.#drop(client));
    } catch (error) {
      if (isReadOnly(error)) this.#drop(client);
      throw error;
    }
  }

  async #open(): Promise<PgClient> {
    if (this.#isClosed) throw new Error('this connection was closed');
    const client = await this.#connect((lost) => this.#drop(lost));
    if (this.#isClosed) {
      cut(client);
      throw new Error('this connection was closed');
    }
    this.#client = client;
    return client;
  }

  #drop(client: PgClient | undefined): void {
    if (client === undefined || this.#client !== client) return;
    this.#client = undefined;
    this.#onLost();
    cut(client);
  }
}

/** What is done in a transaction. */
interface TransactionWork<R, T> {
  readonly effect: (tx: unknown, renew: () => Promise<unknown>) => Promise<R>;
  readonly complete: (query: Query, result: R) => Promise<T>;
}

async function pooledTransaction<R, T>(
  pool: PgPoolInside,
  limits: Limits,
  restMs: number,
  { effect, complete }: TransactionWork<R, T>,
): Promise<T> {
  let isLost = false;
  let isRested = false;
  const lost = Promise.withResolvers<never>();
  lost.promise.catch(nothing);
  const onError = (error: unknown): void => {
    isLost = true;
    lost.reject(error);
    isRested ||= sqlStateOf(error) === RESTED_TOO_LONG;
  };
  const client = await connectPooled(pool, limits, onError);
  // Of our own statements only: a connection may have fallen silent since it was used last, and nothing else would tell.
  const within = <A>(answer: Promise<A>): Promise<A> => limited(limits, answer, () => onError(new Error('no answer')));
  const onRest = (): void => {
    isRested = true;
    lost.reject(restedTooLong(restMs));
  };
  const inside = client as unknown as PgClientInside;
  const gates = new RenewedGate('pg', (gate) => guardPg(inside, gate, limits.effects, { restMs, onRest }));
  try {
    // In one message: each more is a round trip for every message that is handled.
    await within(client.query({ text: `begin; ${limitStatements(restMs)}` }));
    const result = await Promise.race([effect(gates.guarded.tx, gates.renew), lost.promise]);
    await gates.end();
    gates.shut();
    const value = await Promise.race([complete((...args) => within(queryOn(client)(...args)), result), lost.promise]);
    const { command } = await within(client.query({ text: 'commit' }));
    // A transaction that had failed answers a commit with a rollback, and no error.
    if (command !== 'COMMIT') throw new HoldfastError('TRANSACTION_NOT_OPEN', { client: 'pg' });
    return value;
  } catch (error) {
    gates.shut();
    const guard = gates.guarded;
    if (isReadOnly(error)) isLost = true;
    if (!isLost) await guard.finish().catch(nothing);
    if (!isLost && !guard.isBusy) await within(client.query({ text: `rollback; ${UNLOCK_SESSION}` })).catch(onError);
    if (isRested) throw restedTooLong(restMs, error);
    throw isLost ? new ConnectionLost('connection lost', { cause: error }) : error;
  } finally {
    gates.guarded.detach();
    client.removeListener('error', onError);
    // What takes no other statement any more is ended, and the transaction with it.
    client.release(isLost || gates.guarded.isBusy);
  }
}

/** A connection of the pool that listens for its errors. Rejects with `ConnectionLost`. */
async function connectPooled(
  pool: PgPoolInside,
  limits: Limits,
  onError: (error: unknown) => void,
): Promise<PgPoolClient> {
  // The pool listens only while a client is idle: a session that is ended while it is ours would end the process. By callback
  // and not by promise: a server that stops just then says so in the same packet that says it is ready, and what follows a
  // promise would come after that (3 of 30 restarts ended a process).
  let isGivenUp = false;
  const connected = new Promise<PgPoolClient>((resolve, reject) => {
    pool.connect((error, connection) => {
      if (isGivenUp) return connection?.release();
      connection?.on('error', onError);
      if (connection) resolve(connection);
      else reject(error);
    });
  });
  // The pool may be used up by handlers that wait for us.
  return limited(limits, connected, () => (isGivenUp = true)).catch((error: unknown) => {
    throw new ConnectionLost('no connection', { cause: error });
  });
}

async function listen(
  connect: Connect,
  limits: Limits,
  channel: string,
  onNotify: (payload: string) => void,
  onLost: () => void,
): Promise<Subscription> {
  let isOver = false;
  const client = await connect(() => {
    if (!isOver) onLost();
    isOver = true;
  });
  client.on('notification', (message: { readonly payload?: string }) => onNotify(message.payload ?? ''));
  await limited(limits, client.query({ text: `listen "${channel}"` }), nothing).catch((error: unknown) => {
    isOver = true;
    cut(client);
    throw error;
  });
  return {
    query: (text, params) => limited(limits, queryOn(client)(text, params), () => cut(client)),
    close: async () => {
      isOver = true;
      await end(client, limits);
    },
  };
}
