import { HoldfastError } from '../../kernel/error.ts';
import { type TransactionControl, transactionControl } from './transaction-control.ts';

/** A text to send instead of the one that was given. */
export interface Substitute {
  readonly text: string;
  /** Must be called with how it ended. */
  readonly ended: (isDone: boolean) => void;
}

/**
 * What stands between an effect and the connection of its transaction: it lets statements through while the effect runs, and never
 * one that would end the transaction. A plain `begin` becomes a savepoint, and the `commit` or `rollback` after it the end of that
 * savepoint: query builders open nested transactions in this way.
 */
export class TransactionGate {
  readonly client: string;
  readonly #closed = Promise.withResolvers<never>();
  #isOpen = true;
  #nested: string | undefined;
  #nestedSoFar = 0;
  #nestedByCall = 0;

  constructor(client: string) {
    this.client = client;
    this.#closed.promise.catch(() => undefined);
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Rejects with `TRANSACTION_NOT_OPEN` when the gate closes. */
  get closed(): Promise<never> {
    return this.#closed.promise;
  }

  /** Lets nothing through any more. May be called twice. */
  close(): void {
    this.#isOpen = false;
    this.#closed.reject(this.#notOpen());
  }

  /** Throws `TRANSACTION_NOT_OPEN` once the effect has ended. */
  requireOpen(): void {
    if (!this.#isOpen) throw this.#notOpen();
  }

  /** Throws `TRANSACTION_UNFINISHED` when a nested transaction was begun and not ended: what was meant to become of it is not known. */
  requireNoNested(): void {
    if (this.#nested !== undefined || this.#nestedByCall > 0) throw this.unfinished('a nested transaction');
  }

  /** A nested transaction that is a function of the effect's begins; gives what to call when it has ended. */
  enterNested(): () => void {
    this.#nestedByCall += 1;
    return () => {
      this.#nestedByCall -= 1;
    };
  }

  /**
   * Lets one text through: nothing when it may be sent as it is, or what to send instead. Throws `TRANSACTION_NOT_OPEN` or
   * `TRANSACTION_CONTROL`.
   */
  admit(text: string): Substitute | undefined {
    this.requireOpen();
    const control = transactionControl(text);
    return control && this.#substitute(control);
  }

  /** Throws `TRANSACTION_CONTROL` for a text with any control in it: where nothing else can be sent instead. */
  refuseControl(text: string): void {
    const control = transactionControl(text);
    if (control) throw this.refusal(control.kind === 'refused' ? control.statement : control.kind);
  }

  /** The error of something that would end the transaction, or reach beyond it. */
  refusal(statement: string): HoldfastError<'TRANSACTION_CONTROL'> {
    return new HoldfastError('TRANSACTION_CONTROL', { client: this.client, statement });
  }

  /** The error of something that the effect began and did not end. */
  unfinished(unfinished: string): HoldfastError<'TRANSACTION_UNFINISHED'> {
    return new HoldfastError('TRANSACTION_UNFINISHED', { client: this.client, unfinished });
  }

  #substitute(control: TransactionControl): Substitute {
    if (control.kind === 'refused') throw this.refusal(control.statement);
    const open = this.#nested;
    if (control.kind === 'begin') {
      // Of two that overlap it is not known which one a rollback means.
      if (open !== undefined) throw this.refusal('begin inside a nested transaction');
      this.#nestedSoFar += 1;
      const name = `holdfast_${this.#nestedSoFar}`;
      this.#nested = name;
      return { text: `savepoint ${name}`, ended: (isDone) => void (isDone || this.#end(name)) };
    }
    if (open === undefined) throw this.refusal(control.kind);
    const release = `release savepoint ${open}`;
    const text = control.kind === 'commit' ? release : `rollback to savepoint ${open}; ${release}`;
    // One that has failed cannot be released: the rollback that follows still means it.
    return { text, ended: (isDone) => void (isDone && this.#end(open)) };
  }

  #end(name: string): void {
    if (this.#nested === name) this.#nested = undefined;
  }

  #notOpen(): HoldfastError<'TRANSACTION_NOT_OPEN'> {
    return new HoldfastError('TRANSACTION_NOT_OPEN', { client: this.client, of: 'effect' });
  }
}
