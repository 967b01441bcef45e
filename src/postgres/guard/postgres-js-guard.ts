import type { PostgresJsOpen } from './postgres-js-open.ts';
import { rawText, type PostgresJsStatement } from './postgres-js-text.ts';
import type { Substitute, TransactionGate } from './transaction-gate.ts';

type Method = (...args: readonly unknown[]) => unknown;
type Work = (tx: Method) => unknown;

/** Leads out of the transaction, or ends it in a way of its own. */
const REFUSED: Readonly<Record<string, string>> = {
  prepare: 'prepare transaction',
  // Its text is read when it is too late to say no.
  file: 'file() (read the file and pass its text to unsafe())',
};

/**
 * The `sql` of a transaction with every statement through the gate, when it is about to be sent. Has `begin` too, as the `sql` of a pool
 * has: a nested transaction is a savepoint.
 */
export function guardPostgresJs<Sql extends Method>(sql: Sql, gate: TransactionGate, open: PostgresJsOpen): Sql {
  const guardStatement = (made: unknown): unknown => guardedStatement(made, gate, open);
  const own: Readonly<Record<string, Method>> = {
    unsafe: (...args) => guardStatement((sql as unknown as Record<string, Method>)['unsafe']?.(...args)),
    savepoint: (...args) => guardedSavepoint({ sql, gate, open }, args),
    begin: (...args) => {
      if (args.length > 1 && String(args[0]).trim() !== '') throw gate.refusal('begin with options');
      return guardedSavepoint({ sql, gate, open }, args.slice(-1));
    },
    // That of postgres.js goes over another connection, and is heard whatever becomes of the transaction.
    notify: async (channel, payload) => guarded(NOTIFY, channel, payload),
  };
  const guarded: Sql = new Proxy(sql, {
    apply: (target, self, args: unknown[]) => guardStatement(Reflect.apply(target, self, args)),
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof name === 'symbol') return value;
      if (Object.hasOwn(own, name)) return own[name];
      const refused = Object.hasOwn(REFUSED, name) ? REFUSED[name] : undefined;
      return refused === undefined ? value : () => Promise.reject(gate.refusal(refused));
    },
    // What an effect puts on it is for the effect alone: our own statements go past it.
    set: (_, name, value) => Reflect.set(own, name, value),
  });
  return guarded;
}

const NOTIFY = Object.assign(['select pg_notify(', ', ', ')'], { raw: ['select pg_notify(', ', ', ')'] });

function guardedStatement(made: unknown, gate: TransactionGate, open: PostgresJsOpen): unknown {
  if (!isStatement(made)) return made;
  const { handler } = made;
  const guardedHandler = (statement: PostgresJsStatement): unknown => {
    let substitute: Substitute | undefined;
    try {
      substitute = gate.admit(rawText(statement));
    } catch (error) {
      return statement.reject(error);
    }
    if (substitute !== undefined) runInstead(statement, substitute);
    open.watch(statement);
    return handler(statement);
  };
  made.handler = Object.assign(guardedHandler, { debug: handler.debug });
  return made;
}

function runInstead(statement: PostgresJsStatement, { text, ended }: Substitute): void {
  statement.strings = [text];
  statement.args = [];
  statement.simple();
  const { resolve, reject } = statement;
  statement.resolve = (result) => {
    ended(true);
    resolve(result);
  };
  statement.reject = (error) => {
    ended(false);
    reject(error);
  };
}

/** Once the effect has ended, postgres.js is never told how the function did: its rollback would meet whoever has the connection by then. */
function guardedSavepoint(
  { sql, gate, open }: { sql: Method; gate: TransactionGate; open: PostgresJsOpen },
  args: readonly unknown[],
): Promise<unknown> {
  const given = args.at(-1);
  // As a tag it is one statement.
  const work: Work = typeof given === 'function' ? (given as Work) : (tx) => tx(...args);
  const names = typeof given === 'function' ? args.slice(0, -1) : [];
  const inside = async (tx: Method): Promise<unknown> => {
    const result = Promise.resolve(allOf(work(guardPostgresJs(tx, gate, open))));
    await Promise.allSettled([result]);
    if (!gate.isOpen) await new Promise<never>(() => undefined);
    return result;
  };
  const run = async (): Promise<unknown> => {
    gate.requireOpen();
    const leave = gate.enterNested();
    const savepoint = (sql as unknown as { savepoint: Method }).savepoint(...names, inside) as Promise<unknown>;
    try {
      return await Promise.race([savepoint, gate.closed]);
    } finally {
      if (gate.isOpen) leave();
    }
  };
  return run();
}

function allOf(result: unknown): unknown {
  return Array.isArray(result) ? Promise.all(result) : result;
}

function isStatement(value: unknown): value is PostgresJsStatement {
  return value instanceof Promise && 'handler' in value && typeof value.handler === 'function' && 'reject' in value;
}
