import type { AtomicIdempotencyStore } from '../../src/idempotency/idempotency-store.ts';
import type { RelayStore } from '../../src/relay/relay-store.ts';
import type { SqlTransaction } from '../../src/postgres/sql-runner.ts';
import type { TestServer } from '../support/needs.ts';

/** Where effects of one client run: a schema of its own with a table `effect (line text)`. */
export interface EscapeStage<Tx> {
  readonly schema: string;
  readonly store: RelayStore<Tx>;
  readonly idempotency: AtomicIdempotencyStore<Tx>;
  /** In a transaction of its own, with what `hf.send` takes. */
  within(work: (tx: SqlTransaction) => Promise<void>): Promise<void>;
  /** The first column of each row, with `$` in place of the schema. */
  column(query: string): Promise<unknown[]>;
}

/** A client, or a query builder over one, as an effect is given it. What all of them must hold is in `escape-suite.ts`. */
export interface EscapeKind<Tx> {
  readonly name: string;
  /** One connection or two for effects, so that what comes late meets the transaction of another. */
  open(server: TestServer): Promise<EscapeStage<Tx>>;
  /** Runs a text that may hold several statements, without parameters. */
  run(tx: Tx, text: string): PromiseLike<unknown>;
  /** Inserts a line into `table`, with a parameter. */
  insert(tx: Tx, table: string, line: string): PromiseLike<unknown>;
  /** A nested transaction, as the client makes one. */
  nested?(tx: Tx, work: (tx: Tx) => Promise<void>): Promise<unknown>;
  /** What else would end the transaction or reach beyond it, and may or may not be there: each must change nothing. */
  readonly misuses?: Readonly<Record<string, (tx: Tx) => unknown>>;
  /** False where the client sends a text with several statements as a prepared one, which the server refuses by itself. */
  readonly hasMultiStatements?: boolean;
}
