import { answerWithin } from '../../kernel/answer-within.ts';
import type { Effects } from '../../kernel/effects.ts';
import { type RestLimit, watchCopyRest } from './copy-rest.ts';
import type { PostgresJsStatement } from './postgres-js-text.ts';
import type { TransactionGate } from './transaction-gate.ts';

type CursorCall = (rows: unknown) => unknown;

/** What an effect may leave open in a statement of postgres.js. */
interface OpenStatement extends PostgresJsStatement {
  readonly streaming?: unknown;
  cursorFn?: CursorCall | undefined;
}

/** What is used of a Node stream: a COPY from us is one to write to, a COPY to us one to read. */
interface CopyStream {
  /** Only where it is written to. */
  readonly writableEnded?: boolean;
  on(event: 'error', heard: () => void): unknown;
  destroy(error?: Error): unknown;
  push?: (chunk: unknown) => boolean;
}

interface CopyTarget extends CopyStream {
  readonly writableLength: number;
  write(...args: unknown[]): boolean;
}

/** How long what an effect left open may take to end. */
const CLOSING_MS = 2_000;

const nothing = (): void => undefined;

/**
 * The COPY streams and cursors of one effect. While one is open the connection takes nothing else, not even a rollback: without an end
 * it would be lost to its pool, with its transaction and its locks.
 */
export class PostgresJsOpen {
  readonly #gate: TransactionGate;
  readonly #effects: Effects;
  /** What a cursor's function returns to end it. */
  readonly #closeCursor: unknown;
  readonly #isLost: () => boolean;
  readonly #rest: RestLimit;
  /** Of each COPY that runs: its stream, once the server has begun it. */
  readonly #copies = new Map<OpenStatement, { stream?: CopyStream; readonly ended: PromiseWithResolvers<void> }>();

  constructor(
    gate: TransactionGate,
    { effects, rest }: { readonly effects: Effects; readonly rest: RestLimit },
    closeCursor: unknown,
    isLost: () => boolean,
  ) {
    this.#rest = rest;
    this.#gate = gate;
    this.#effects = effects;
    this.#closeCursor = closeCursor;
    this.#isLost = isLost;
  }

  /** A statement is about to be sent. */
  watch(statement: OpenStatement): void {
    if (statement.streaming === true) this.#watchCopy(statement);
    else this.#watchCursor(statement);
  }

  /**
   * Ends what is still open when the effect has ended: what a COPY to us still sends is dropped. Rejects with
   * `TRANSACTION_UNFINISHED` for a COPY from us without an end, whose rows would be kept in part.
   */
  async finish(): Promise<void> {
    if (this.#copies.size === 0) return;
    const error = this.#gate.unfinished('a COPY');
    let isHalf = false;
    for (const { stream } of this.#copies.values()) {
      isHalf ||= stream?.writableEnded === false;
      if (stream) close(stream, error);
    }
    const ended = [...this.#copies.values()].map((copy) => copy.ended.promise);
    await answerWithin(this.#effects, Promise.all(ended), CLOSING_MS, () => error);
    if (isHalf) throw error;
  }

  /** True when a COPY is still open: the connection takes no other statement. */
  get isBusy(): boolean {
    return this.#copies.size > 0;
  }

  /** postgres.js resolves a COPY twice: with its stream when it begins, and with its result when it has ended. */
  #watchCopy(statement: OpenStatement): void {
    const copy: { stream?: CopyStream; readonly ended: PromiseWithResolvers<void> } = {
      ended: Promise.withResolvers<void>(),
    };
    this.#copies.set(statement, copy);
    let stopWatching = nothing;
    const end = (): void => {
      stopWatching();
      this.#copies.delete(statement);
      copy.ended.resolve();
    };
    const { resolve, reject } = statement;
    statement.resolve = (result) => {
      if (copy.stream === undefined && isStream(result)) {
        copy.stream = result;
        if (isTarget(result)) stopWatching = this.#watchRest(result);
        if (!this.#gate.isOpen) close(result, this.#gate.unfinished('a COPY'));
      } else end();
      resolve(result);
    };
    statement.reject = (error) => {
      end();
      reject(error);
    };
  }

  #watchRest(stream: CopyTarget): () => void {
    const rest = watchCopyRest(this.#effects, this.#rest, stream);
    const write = stream.write.bind(stream);
    stream.write = (...args: unknown[]): boolean => {
      rest.used();
      return write(...args);
    };
    return () => rest.end();
  }

  /**
   * Its function, whichever it is by then: a loop over a cursor puts another there for each part. Once the connection is lost it never
   * ends: postgres.js would write the next request to a socket that is gone, which ends the process, or to the next connection. For the
   * last rows postgres.js does not wait for it, nor hear its error: the statement ends as it did, and when it has.
   */
  #watchCursor(statement: OpenStatement): void {
    if (statement.cursorFn === undefined || this.#closeCursor === undefined) return;
    let call: CursorCall | undefined = statement.cursorFn;
    let running: Promise<unknown> | undefined;
    const closed = this.#gate.closed.catch(() => this.#closeCursor);
    const guarded = async (rows: unknown): Promise<unknown> => {
      try {
        if (!this.#gate.isOpen) return this.#closeCursor;
        return await Promise.race([call?.(rows), closed]);
      } finally {
        if (this.#isLost()) await new Promise<never>(nothing);
      }
    };
    Object.defineProperty(statement, 'cursorFn', {
      get: () => (rows: unknown) => {
        running = guarded(rows);
        running.catch(nothing);
        return running;
      },
      set: (next: CursorCall) => {
        call = next;
      },
    });
    const { resolve } = statement;
    statement.resolve = (result) => {
      const last = running;
      if (last === undefined) return resolve(result);
      running = undefined;
      // By what it has then: a loop puts others there.
      void last.then(
        () => statement.resolve(result),
        (error: unknown) => statement.reject(error),
      );
    };
  }
}

function isStream(value: unknown): value is CopyStream {
  return typeof value === 'object' && value !== null && 'destroy' in value && typeof value.destroy === 'function';
}

function isTarget(stream: CopyStream): stream is CopyTarget {
  return stream.writableEnded !== undefined;
}

function close(stream: CopyStream, error: Error): void {
  if (stream.writableEnded === true) return;
  stream.on('error', nothing);
  if (stream.writableEnded === false) {
    stream.destroy(error);
    return;
  }
  stream.destroy();
  // The rest of it stands before whatever comes next on the connection: it is read and dropped. One that was destroyed takes nothing,
  // and postgres.js would stop reading.
  stream.push = () => true;
  Reflect.apply(Reflect.get(stream, '_read') as () => void, stream, [0]);
}
