import type { Effects } from '../../kernel/effects.ts';
import type { RestLimit } from './copy-rest.ts';
import { PgSubmittables, isSubmittable } from './pg-submittables.ts';
import type { Substitute, TransactionGate } from './transaction-gate.ts';

type Method = (...args: unknown[]) => unknown;

/** What we use of pg's client. */
export interface PgClientInside {
  query: Method;
  on(event: string, listener: Method): unknown;
  removeListener(event: string, listener: Method): unknown;
  getTransactionStatus?(): unknown;
  getTypeParser?(...args: unknown[]): unknown;
  /** The wire below; not there in the native client. */
  readonly connection?: PgConnectionInside;
  readonly [known: string]: unknown;
}

/** What we use of the connection below a client. */
export interface PgConnectionInside {
  readonly stream?: object;
  readonly parsedStatements?: Readonly<Record<string, string>>;
  readonly submittedNamedStatements?: object;
}

/** A transaction of pg as it is handed to an effect. */
export interface GuardedPg {
  readonly tx: object;
  /** Ends what the effect left open, once it has ended. Rejects with `TRANSACTION_UNFINISHED` when the connection is of no use any more. */
  finish(): Promise<void>;
  /** True when the connection takes no other statement: something of the effect's has not ended. */
  readonly isBusy: boolean;
  /** Takes back the listeners of the effect. */
  detach(): void;
}

/** Only to look at. */
const FACTS = ['processID', 'user', 'database', 'host', 'port'];

/**
 * An object of the client's class without a client in it: its methods go through the gate, and nothing leads to the connection, to
 * the pool or to the end of the transaction. An object of its own and no proxy: methods of the class find nothing of a connection in it.
 */
export function guardPg(client: PgClientInside, gate: TransactionGate, effects: Effects, rest: RestLimit): GuardedPg {
  const tx = Object.create(Object.getPrototypeOf(client) as object) as Record<string, unknown>;
  const submittables = new PgSubmittables(client, gate, effects, rest);
  for (const name of FACTS) tx[name] = client[name];
  tx['query'] = guardedQuery(client, gate, submittables);
  tx['getTransactionStatus'] = (): unknown => (gate.isOpen ? (client.getTransactionStatus?.() ?? 'T') : 'I');
  tx['getTypeParser'] = (...args: unknown[]): unknown => client.getTypeParser?.(...args);
  tx['release'] = (): never => {
    throw gate.refusal('release()');
  };
  for (const name of ['end', 'connect', 'cancel', 'setTypeParser']) tx[name] = refusing(gate, `${name}()`);
  const detach = guardListeners(client, gate, tx);
  return {
    tx,
    finish: () => submittables.finish(),
    get isBusy(): boolean {
      return submittables.isBusy;
    },
    detach,
  };
}

function refusing(gate: TransactionGate, what: string): Method {
  return (...args) => answer(Promise.reject(gate.refusal(what)), args.find(isFunction));
}

function guardedQuery(client: PgClientInside, gate: TransactionGate, submittables: PgSubmittables): Method {
  return (config, values, callback) => {
    if (isSubmittable(config)) return submittables.query(config, values, callback);
    const heard = [callback, values, (config as { callback?: unknown } | undefined)?.callback].find(isFunction);
    let substitute: Substitute | undefined;
    try {
      substitute = gate.admit(textOf(client, config));
    } catch (error) {
      return answer(Promise.reject(error), heard);
    }
    if (substitute === undefined) return client.query(config, values, callback);
    return answer(runInstead(client, substitute), heard);
  };
}

/** What a query would run: a prepared statement may be called by its name alone. */
function textOf(client: PgClientInside, config: unknown): string {
  if (typeof config === 'string') return config;
  const { text, name } = (config ?? {}) as { text?: unknown; name?: unknown };
  if (typeof text === 'string' && text !== '') return text;
  return (typeof name === 'string' && client.connection?.parsedStatements?.[name]) || '';
}

async function runInstead(client: PgClientInside, { text, ended }: Substitute): Promise<unknown> {
  try {
    const result: unknown = await client.query(text);
    ended(true);
    return Array.isArray(result) ? result.at(-1) : result;
  } catch (error) {
    ended(false);
    throw error;
  }
}

/** By a promise, or by a callback where one was given. */
function answer(result: Promise<unknown>, callback: Method | undefined): unknown {
  if (callback === undefined) return result;
  void hand(result, callback);
  return undefined;
}

/** What a callback throws is an error of its own, as with the client itself. */
async function hand(result: Promise<unknown>, callback: Method): Promise<void> {
  const [outcome] = await Promise.allSettled([result]);
  queueMicrotask(() => {
    if (outcome.status === 'fulfilled') callback(null, outcome.value);
    else callback(outcome.reason);
  });
}

function isFunction(value: unknown): value is Method {
  return typeof value === 'function';
}

/** Lets the effect hear what its connection says as long as it runs: what listens to a pooled client listens to others' work too. */
function guardListeners(client: PgClientInside, gate: TransactionGate, tx: Record<string, unknown>): () => void {
  const emitter = tx as unknown as {
    emit: Method;
    listenerCount: (event: string) => number;
    removeAllListeners(): void;
  };
  const heard = new Map<string, Method>();
  for (const name of ['on', 'addListener', 'prependListener']) {
    const method = tx[name] as Method;
    tx[name] = (event: string, listener: unknown): unknown => {
      gate.requireOpen();
      if (!heard.has(event)) {
        const hear: Method = (...args) => emitter.listenerCount(event) > 0 && emitter.emit(event, ...args);
        heard.set(event, hear);
        client.on(event, hear);
      }
      return Reflect.apply(method, tx, [event, listener]);
    };
  }
  return () => {
    if (heard.size === 0) return;
    for (const [event, hear] of heard) client.removeListener(event, hear);
    emitter.removeAllListeners();
  };
}
