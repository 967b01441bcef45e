/** How long things are kept, and when senders are refused. */
export interface KeepOptions {
  readonly historyMs: number;
  /** Open deliveries at which `send` is refused with `OUTBOX_FULL`; absent: never. */
  readonly maxPending: number | undefined;
}

/** What the housekeeper found. */
export interface HouseReport {
  readonly pending: number;
  readonly failed: number;
  /** The age of the oldest ready delivery. */
  readonly oldestMs: number | undefined;
  readonly isFull: boolean;
  /** Open deliveries that no live worker serves: no handler known, no worker for the handler, or for its generation. */
  readonly unserved: readonly {
    readonly reason: 'no-handler' | 'no-worker' | 'generation-unserved';
    readonly handler: string | undefined;
    readonly type: string | undefined;
    readonly generation: number | undefined;
    readonly count: number;
  }[];
}
