import type { TransactionGate } from './transaction-gate.ts';

type Method = (...args: never[]) => Promise<unknown>;

/** What we use of a transaction of PGlite. */
interface PgliteTransaction {
  query(text: string, ...more: unknown[]): Promise<unknown>;
  exec(text: string, ...more: unknown[]): Promise<unknown>;
}

/** The same transaction, with every statement through the gate. Has `transaction` too, as a database has: a nested one is a savepoint. */
export function guardPglite(native: object, gate: TransactionGate): object {
  const inside = native as PgliteTransaction;
  const through = async (text: string, run: (text: string) => Promise<unknown>, isSame = true): Promise<unknown> => {
    const substitute = gate.admit(text);
    if (substitute === undefined) return run(text);
    let isDone = false;
    try {
      const results = await inside.exec(substitute.text);
      isDone = true;
      return isSame ? results : (results as readonly unknown[]).at(-1);
    } finally {
      substitute.ended(isDone);
    }
  };
  const own: Record<PropertyKey, unknown> = {
    query: async (text: string, ...more: unknown[]) => through(text, (same) => inside.query(same, ...more), false),
    exec: async (text: string, ...more: unknown[]) => through(text, (same) => inside.exec(same, ...more)),
    sql: async (strings: readonly string[], ...values: unknown[]) => {
      gate.requireOpen();
      gate.refuseControl(templateText({ strings, values }));
      return Reflect.apply(Reflect.get(native, 'sql') as Method, native, [strings, ...values]) as Promise<unknown>;
    },
    rollback: async () => Promise.reject(gate.refusal('rollback()')),
    transaction: async (work: (tx: object) => Promise<unknown>) => nested(tx, work),
  };
  const tx: object = new Proxy(native, {
    get: (target, name) => {
      if (name === 'closed') return !gate.isOpen;
      if (name in own) return own[name];
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return async (...args: never[]): Promise<unknown> => {
        gate.requireOpen();
        return Reflect.apply(value as Method, target, args);
      };
    },
    // What an effect puts on it is for the effect alone: our own statements go past it.
    set: (_, name, value) => Reflect.set(own, name, value),
  });
  return tx;
}

/** The text of a template as PGlite would make it, with the parts that are text themselves. */
function templateText({ strings, values }: { strings: readonly string[]; values: readonly unknown[] }): string {
  const textOf = (value: unknown): string => {
    const {
      str,
      strings: inner,
      values: more,
    } = (value ?? {}) as { str?: unknown; strings?: unknown; values?: unknown };
    if (typeof str === 'string') return str;
    return Array.isArray(inner) && Array.isArray(more) ? templateText({ strings: inner, values: more }) : '$1';
  };
  return strings.map((text, at) => (at === 0 ? text : textOf(values[at - 1]) + text)).join('');
}

/** What `work` gives, with all of it kept, or nothing when it throws. */
async function nested(tx: object, work: (tx: object) => Promise<unknown>): Promise<unknown> {
  const inside = tx as PgliteTransaction;
  await inside.exec('begin');
  let result: unknown;
  try {
    result = await work(tx);
    await inside.exec('commit');
  } catch (error) {
    await inside.exec('rollback').catch(() => undefined);
    throw error;
  }
  return result;
}
