import { answerWithin } from '../../kernel/answer-within.ts';
import type { Effects } from '../../kernel/effects.ts';
import { type CopyRest, type RestLimit, watchCopyRest } from './copy-rest.ts';
import { guardConnection } from './pg-connection-guard.ts';
import type { PgClientInside } from './pg-guard.ts';
import type { TransactionGate } from './transaction-gate.ts';

/** An object that speaks to the connection by itself: a cursor, a stream of rows, a COPY, a query made by hand. */
export interface Submittable {
  submit(connection: unknown): unknown;
  readonly text?: unknown;
  /** Of a stream of rows: what it reads from, which has the text. */
  readonly cursor?: { readonly text?: unknown };
  /** Of a cursor. */
  close?(): Promise<unknown>;
  /** Of streams. */
  destroy?(error?: Error): unknown;
  resume?(): unknown;
  readonly writableEnded?: boolean;
  readonly writableLength?: number;
  on?(event: string, listener: () => void): unknown;
}

/** How long what an effect left open may take to end. */
const CLOSING_MS = 2_000;

const nothing = (): void => undefined;

export function isSubmittable(config: unknown): config is Submittable {
  return typeof (config as Partial<Submittable> | null | undefined)?.submit === 'function';
}

/** The objects that speak to the connection by themselves, of one effect: each sees a guarded connection, and only while it runs. */
export class PgSubmittables {
  readonly #client: PgClientInside;
  readonly #gate: TransactionGate;
  readonly #effects: Effects;
  readonly #rest: RestLimit;
  readonly #open = new Map<Submittable, Promise<void>>();

  constructor(client: PgClientInside, gate: TransactionGate, effects: Effects, rest: RestLimit) {
    this.#client = client;
    this.#gate = gate;
    this.#effects = effects;
    this.#rest = rest;
  }

  /** As the client's own `query`. Throws what the gate says. */
  query(config: Submittable, values: unknown, callback: unknown): unknown {
    const { connection } = this.#client;
    this.#gate.requireOpen();
    // Refused before it is sent: where it says no only then, the connection is of no use any more.
    for (const text of [config.text, config.cursor?.text])
      this.#gate.refuseControl(typeof text === 'string' ? text : '');
    // The native client hands itself to such objects.
    if (connection === undefined) throw this.#gate.refusal('an object that speaks to the connection by itself');
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const rest = this.#restOf(config);
    const guard = guardConnection(connection, this.#gate, () => rest?.used());
    const end = (): void => {
      guard.end();
      rest?.end();
      this.#open.delete(config);
      resolve();
    };
    this.#open.set(config, ended);
    this.#client.query(seenBy(config, connection, guard, end), values, callback);
    return config;
  }

  /**
   * Ends what is still open when the effect has ended: cursors and streams of rows are closed, the rest of a COPY to us is read and
   * dropped. Rejects with `TRANSACTION_UNFINISHED` for a COPY from us without an end, whose rows would be kept in part.
   */
  async finish(): Promise<void> {
    if (this.#open.size === 0) return;
    const halves = [...this.#open.keys()].filter((one) => isCopy(one) && one.writableEnded === false);
    const error = this.#gate.unfinished(halves.length > 0 ? 'a COPY' : 'a statement');
    for (const one of this.#open.keys()) close(one, error);
    await answerWithin(this.#effects, Promise.all(this.#open.values()), CLOSING_MS, () => error);
    if (halves.length > 0) throw error;
  }

  #restOf(config: Submittable): CopyRest | undefined {
    const { writableEnded, writableLength } = config;
    if (!isCopy(config) || writableEnded !== false || writableLength === undefined) return undefined;
    return watchCopyRest(this.#effects, this.#rest, config as { writableLength: number });
  }

  /** True when something is still open: the connection takes no other statement. */
  get isBusy(): boolean {
    return this.#open.size > 0;
  }
}

/** The object as the client sees it, and so that it never sees the client's own connection. */
function seenBy(
  config: Submittable,
  connection: object,
  guard: ReturnType<typeof guardConnection>,
  end: () => void,
): object {
  return new Proxy(config, {
    get: (target, name) => {
      const given: unknown = Reflect.get(target, name);
      // A call that it has no method for would end the process.
      const value = given === undefined && String(name).startsWith('handle') ? nothing : given;
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        const own = args.map((arg) => (arg === connection ? guard.connection : arg));
        try {
          return guard.within(() => Reflect.apply(value, target, own) as unknown);
        } catch (error) {
          // That is how an object tells the client that it has sent nothing.
          if (name === 'submit') return error;
          throw error;
        } finally {
          if (name === 'handleError' || name === 'handleReadyForQuery') end();
        }
      };
    },
  });
}

function isCopy({ text }: Submittable): boolean {
  return typeof text === 'string' && /\bcopy\b/i.test(text.slice(0, 1_000));
}

function close(one: Submittable, error: Error): void {
  if (isCopy(one) && one.writableEnded === undefined) one.resume?.();
  else if (isCopy(one) && one.writableEnded === true) return;
  else if (typeof one.close === 'function') one.close().catch(nothing);
  else if (typeof one.destroy === 'function') {
    // Nobody may listen to it any more.
    one.on?.('error', nothing);
    one.destroy(isCopy(one) ? error : undefined);
  }
}
