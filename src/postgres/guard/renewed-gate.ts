import { TransactionGate } from './transaction-gate.ts';

/** An effect's way to its transaction, and how it is ended. */
interface Guarded {
  readonly tx: unknown;
  /** Ends what the effect left open; the gate is closed by then. */
  finish(): Promise<void>;
  /** It is over, and another takes its place. */
  detach?(): void;
}

/** The gates of the effects that run one after the other in one transaction: each is closed before the next is opened. */
export class RenewedGate<G extends Guarded> {
  readonly #client: string;
  readonly #guard: (gate: TransactionGate) => G;
  #gate: TransactionGate;
  #isOver = false;
  /** Of the effect that runs, or ran last. */
  guarded: G;

  constructor(client: string, guard: (gate: TransactionGate) => G) {
    this.#client = client;
    this.#guard = guard;
    this.#gate = new TransactionGate(client);
    this.guarded = guard(this.#gate);
  }

  /** Lets nothing through any more, whatever an effect that was given up still does. */
  shut(): void {
    this.#isOver = true;
    this.#gate.close();
  }

  /** The effect has ended well: rejects with `TRANSACTION_UNFINISHED` where it left something open. */
  async end(): Promise<void> {
    this.#gate.close();
    await this.guarded.finish();
    this.#gate.requireNoNested();
  }

  /** The effect has ended well, and another begins. */
  readonly renew = async (): Promise<unknown> => {
    await this.end();
    if (this.#isOver) this.#gate.requireOpen();
    this.guarded.detach?.();
    this.#gate = new TransactionGate(this.#client);
    this.guarded = this.#guard(this.#gate);
    return this.guarded.tx;
  };
}
