import type { ClientSession } from 'mongodb';
import { HoldfastError } from '../kernel/error.ts';

/** The session of a transaction as an effect is given it. */
export interface GuardedSession {
  readonly session: ClientSession;
  /** From now on the driver takes it for a session that has ended. May be called twice. */
  close(): void;
}

const CLIENT = 'mongodb';

/** Ends the transaction, or begins another. */
const REFUSED: ReadonlySet<unknown> = new Set([
  'startTransaction',
  'commitTransaction',
  'abortTransaction',
  'withTransaction',
  'endSession',
  Symbol.asyncDispose,
]);

/**
 * The same session, without a way to end its transaction, and dead once the effect has ended. A late write with the session itself would be
 * one without a transaction as soon as that was committed or rolled back: it would stay, at every attempt.
 */
export function guardSession(session: ClientSession): GuardedSession {
  let isOpen = true;
  const refuse = (name: string | symbol) => (): never => {
    if (!isOpen) throw new HoldfastError('TRANSACTION_NOT_OPEN', { client: CLIENT, of: 'effect' });
    const statement = typeof name === 'string' ? `session.${name}()` : 'await using';
    throw new HoldfastError('TRANSACTION_CONTROL', { client: CLIENT, statement });
  };
  const refuseLater = (name: string | symbol) => {
    const now = refuse(name);
    return async (): Promise<never> => now();
  };
  const guarded = new Proxy(session, {
    get: (target, name) => {
      if (REFUSED.has(name)) return name === 'startTransaction' ? refuse(name) : refuseLater(name);
      if (name === 'hasEnded') return !isOpen || target.hasEnded;
      if (name === 'inTransaction') return () => isOpen && target.inTransaction();
      return Reflect.get(target, name, target) as unknown;
    },
    // What the driver notes in it is for all that use the session; our own commit is not to be replaced.
    set: (target, name, value) => REFUSED.has(name) || Reflect.set(target, name, value, target),
  });
  return {
    session: guarded,
    close: () => {
      isOpen = false;
    },
  };
}
