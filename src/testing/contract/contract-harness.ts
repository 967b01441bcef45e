import type { RelayStore } from '../../relay/relay-store.ts';

/** A transaction of the store under test, begun. */
export interface ContractTransaction<Tx> {
  readonly tx: Tx;
  readonly commit: () => Promise<void>;
  readonly rollback: () => Promise<void>;
}

/** A store under test, empty, and what the cases need to do to it from outside. */
export interface ContractHarness<Tx> {
  readonly store: RelayStore<Tx>;
  begin(): Promise<ContractTransaction<Tx>>;
  /** False: it has one connection, and a second transaction would wait for the first. */
  readonly canOverlap: boolean;
  /** Lets so many milliseconds of the store's own time pass. */
  pass(ms: number): Promise<void>;
  /** Writes a line in a transaction, as a handler's effect. */
  effect(tx: Tx, line: string): Promise<void>;
  /** The lines of committed transactions. */
  effects(): Promise<readonly string[]>;
  /** As an operator: another payload for every open delivery of the message, and a poke to their owners. */
  edit(id: string, payload: unknown): Promise<void>;
  /** As an operator: runs the dead letters of the message again. */
  replay(id: string): Promise<void>;
  /** As an operator: no message of this handler is started. */
  pause(handler: string): Promise<void>;
  /** As an operator: so many runs of this handler at once in each process. */
  limit(handler: string, limit: number): Promise<void>;
  /** The ids of finished deliveries, as far as they are kept. */
  finished(): Promise<readonly string[]>;
}

/** One promise of a store. `run` throws when it is not kept. */
export interface ContractCase {
  /** A sentence that states the promise. */
  readonly name: string;
  /** It needs two transactions at once; leave it out where `canOverlap` is false. */
  readonly needsOverlap: boolean;
  run<Tx>(harness: ContractHarness<Tx>): Promise<void>;
}
