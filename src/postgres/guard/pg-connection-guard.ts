import type { PgConnectionInside } from './pg-guard.ts';
import type { TransactionGate } from './transaction-gate.ts';

type Method = (...args: unknown[]) => unknown;

/** A connection as an object sees it that speaks to it by itself. */
export interface GuardedConnection {
  readonly connection: object;
  /** Runs a call of the client's: what the object says in it after its end is dropped, as an error there would end the process. */
  within<T>(call: () => T): T;
  /** From now on it reaches nothing. */
  end(): void;
}

/** With a text in them, as such or in a field. */
const STATEMENTS: ReadonlySet<unknown> = new Set(['query', 'parse']);
const PROTOCOL: ReadonlySet<unknown> = new Set([
  'query',
  'parse',
  'bind',
  'describe',
  'execute',
  'flush',
  'sync',
  'close',
  'sendCopyFail',
  'sendCopyFromChunk',
  'endCopyFrom',
]);
const LISTENING: ReadonlySet<unknown> = new Set(['on', 'once', 'addListener', 'listeners', 'read', 'unshift']);
/** Undoes what was done: also after the end. */
const UNDOING: ReadonlySet<unknown> = new Set(['removeListener', 'off', 'resume']);

/**
 * A connection that is open to one object until that has ended, and to no statement that would end the transaction. `used` is called
 * whenever the object sends something.
 */
export function guardConnection(
  connection: PgConnectionInside,
  gate: TransactionGate,
  used: () => void,
): GuardedConnection {
  let hasEnded = false;
  let calls = 0;
  /** True when it may be done; throws, or is false where a call of the client's is under way. */
  const mayRun = (): boolean => {
    if (hasEnded && calls === 0) gate.requireOpen();
    if (hasEnded && calls === 0) throw gate.refusal('a statement that has ended');
    return !hasEnded;
  };
  const guarded = (target: object, allowed: ReadonlySet<unknown>, more: Record<PropertyKey, unknown>): object => {
    const proxy: object = new Proxy(Object.create(null) as object, {
      get: (_, name) => {
        if (name in more) return more[name];
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function' || !(allowed.has(name) || LISTENING.has(name) || UNDOING.has(name))) return;
        return (...args: unknown[]): unknown => {
          // A COPY to us looks once more when its end has come.
          if (name === 'read' && hasEnded) return null;
          if (!UNDOING.has(name) && !mayRun()) return false;
          used();
          if (STATEMENTS.has(name)) gate.refuseControl(textOf(args[0]));
          const result: unknown = Reflect.apply(value as Method, target, args);
          return result === target ? proxy : result;
        };
      },
      set: () => false,
    });
    return proxy;
  };
  const stream = connection.stream && guarded(connection.stream, STREAM, {});
  return {
    connection: guarded(connection, PROTOCOL, {
      stream,
      // What a query of pg looks up: a copy, as what it says is believed.
      get parsedStatements() {
        return { ...connection.parsedStatements };
      },
      submittedNamedStatements: connection.submittedNamedStatements,
    }),
    within: (call) => {
      calls += 1;
      try {
        return call();
      } finally {
        calls -= 1;
      }
    },
    end: () => {
      hasEnded = true;
    },
  };
}

const STREAM: ReadonlySet<unknown> = new Set(['write', 'cork', 'uncork', 'pause']);

function textOf(statement: unknown): string {
  const text: unknown = typeof statement === 'string' ? statement : (statement as { text?: unknown } | null)?.text;
  return typeof text === 'string' ? text : '';
}
