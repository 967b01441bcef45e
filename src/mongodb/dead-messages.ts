/** A message that failed for good. Later ones of its key wait behind it. */
export interface DeadMessage {
  /** What `replay` and `discard` take. */
  readonly id: string;
  readonly type: string;
  readonly key: string | undefined;
  readonly payload: unknown;
  readonly attempts: number;
  /** How often it was replayed. */
  readonly replays: number;
  /** Why no further attempt was made. */
  readonly reason: string;
  readonly error: { readonly name: string; readonly message: string; readonly code?: string | undefined };
  readonly deadAt: Date;
}

/** Looking at what has failed for good, and deciding about it. Needs nothing that runs. */
export interface DeadMessages {
  /** The oldest first, a hundred unless told otherwise. */
  list(limit?: number): Promise<readonly DeadMessage[]>;
  /** Lets it be tried anew, at its place in line. False: it is not dead. */
  replay(id: string): Promise<boolean>;
  /** Gives it up; those behind it go on. False: it is not dead. */
  discard(id: string): Promise<boolean>;
}
