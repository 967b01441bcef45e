import type { RelaySession } from '../relay/relay-store.ts';

/**
 * Where something can go wrong. `before`: nothing has happened yet · `locked`: the write is checked and holds its locks, its
 * commit is on the way (`settle`, `mark` and `commit` only) · `after`: it is done and the reply is on the way. The call `wake`
 * is a notification to a session that listens; it has only `before`.
 */
export interface FaultPoint {
  /** From 1, in the order of `openRelay`. */
  readonly session: number;
  readonly call: keyof RelaySession<never> | 'wake';
  readonly step: 'before' | 'locked' | 'after';
}

/** What goes wrong. A wake that ends in any way is lost. */
export interface Fault {
  /** First this passes. */
  readonly delayMs?: number;
  /**
   * `reject`: the connection is lost here; before `after` nothing is kept, and `commit` throws `CommitLost` where it cannot know ·
   * `hang`: there is never an answer, and nothing is kept before `after` · `again`: only at `locked` of `commit`, the database
   * asks for the transaction once more (a serialisation failure).
   */
  readonly end?: 'reject' | 'hang' | 'again';
}

/** What a call is rejected with when its connection is lost. */
export function lostConnection(): Error {
  return Object.assign(new Error('the connection to the database was lost'), { code: 'ECONNRESET' });
}

/** The connection was lost in a commit, or the database asks for the transaction again. */
export class CommitCut extends Error {
  readonly isAgain: boolean;

  constructor(isAgain: boolean) {
    super('the transaction was cut');
    this.isAgain = isAgain;
  }
}

/** The answer that does not come. */
export function never(): Promise<never> {
  return new Promise(() => undefined);
}
