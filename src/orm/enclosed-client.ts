import { HoldfastError } from '../kernel/error.ts';

/** What an ORM uses of a client of pg. */
interface PgClient {
  query(...args: readonly unknown[]): unknown;
}

const BEGIN = /^\s*(?:begin|start\s+transaction)\b[^;]*;?\s*$/i;
const END = /^\s*(?:commit|rollback)\s*;?\s*$/i;

/**
 * The transaction of an effect as a client in which an ORM may begin, commit or roll back one of its own: these three reach
 * nobody, because the transaction is the store's to begin and to end. Everything in between goes to the client as it is,
 * which makes savepoints of nested transactions and refuses to end.
 */
export class EnclosedClient {
  readonly client: object;
  #stage: 'before' | 'within' | 'after' | 'over' = 'before';

  constructor(native: object) {
    const inner = native as PgClient;
    const query = (...args: readonly unknown[]): unknown => this.#own(args) ?? inner.query(...args);
    const own: Readonly<Record<PropertyKey, unknown>> = { query, release: () => undefined };
    this.client = new Proxy(native, {
      get: (target, name): unknown => (Object.hasOwn(own, name) ? own[name] : Reflect.get(target, name)),
    });
  }

  /** Runs `work` in the transaction that `begin` opens on this client. Rejects with just what `work` threw. */
  async run<Tx, T>(
    begin: (work: (tx: Tx) => Promise<void>) => Promise<unknown>,
    work: (tx: Tx) => Promise<T>,
  ): Promise<T> {
    let ended: { readonly value: T } | { readonly error: unknown } | undefined;
    try {
      await begin(async (tx) => {
        // It would be committed, whatever becomes of the effect.
        if (this.#stage !== 'within') throw new HoldfastError('TRANSACTION_NOT_OPEN', { client: 'orm' });
        try {
          ended = { value: await work(tx) };
        } catch (error) {
          ended = { error };
          throw error;
        } finally {
          this.#stage = 'after';
        }
      });
    } catch (error) {
      // Some put an error of their own in its place, and it says less.
      throw ended !== undefined && 'error' in ended ? ended.error : error;
    }
    return (ended as unknown as { readonly value: T }).value;
  }

  /** The result of a statement that only the ORM believes in; nothing for all others. */
  #own(args: readonly unknown[]): unknown {
    const [statement] = args;
    const text = typeof statement === 'string' ? statement : (statement as { readonly text?: unknown } | null)?.text;
    if (typeof text !== 'string') return undefined;
    if (this.#stage === 'before' && BEGIN.test(text)) this.#stage = 'within';
    else if (this.#stage === 'after' && END.test(text)) this.#stage = 'over';
    else return undefined;
    const result = { command: text.trim().split(/\W/, 1)[0]?.toUpperCase(), rowCount: null, rows: [], fields: [] };
    const done = args.at(-1);
    if (typeof done !== 'function') return Promise.resolve(result);
    queueMicrotask(() => void done(null, result));
    return true;
  }
}
