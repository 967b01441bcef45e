/** A live process. */
export interface WorkerRecord {
  readonly id: string;
  /** Host and process id. */
  readonly name: string;
  readonly service: string;
  readonly generation: number | undefined;
  readonly joinedAt: Date;
  /** Until when it is taken for alive. */
  readonly expiresAt: Date;
  /** Units of the key space it owns. */
  readonly units: number;
  /** What it is known to run: after one heartbeat. */
  readonly running: readonly {
    readonly messageId: string;
    readonly handler: string;
    readonly attempt: number;
    readonly startedAt: Date;
  }[];
  readonly isHousekeeper: boolean;
}

/** How one of our tables is. */
export interface TableHealth {
  readonly table: string;
  /** Estimates of the database. */
  readonly rows: number;
  readonly deadRows: number;
  readonly bytes: number;
  readonly indexBytes: number;
  readonly vacuumedAt: Date | undefined;
}

/** A session that keeps the database from cleaning up: the oldest snapshot. */
export interface SnapshotHolder {
  readonly what: 'session' | 'prepared-transaction' | 'replication-slot' | 'standby';
  /** Process id, or the name of the slot or transaction. */
  readonly id: string;
  readonly user: string | undefined;
  readonly application: string | undefined;
  readonly state: string | undefined;
  readonly ageMs: number | undefined;
}

/** A finding of `holdfast doctor`. */
export interface Finding {
  /** `ok`: checked and well. */
  readonly level: 'ok' | 'warning' | 'problem';
  readonly title: string;
  /** What to do; absent when it is well. */
  readonly advice: string | undefined;
}

/** The machinery. */
export interface SystemRecord {
  readonly at: Date;
  /** Of this package. */
  readonly version: string;
  readonly schema: { readonly name: string; readonly version: number; readonly expected: number };
  readonly server: string;
  readonly isPaused: boolean;
  readonly workers: readonly WorkerRecord[];
  readonly tables: readonly TableHealth[];
  readonly oldestSnapshot: SnapshotHolder | undefined;
  /** Of the history of finished messages: how far back it goes. */
  readonly historySince: Date | undefined;
  readonly findings: readonly Finding[];
}
