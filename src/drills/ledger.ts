import type { DrillReport } from './drill-report.ts';

/** What clients posted over HTTP, and what they got. */
export interface LedgerHttp {
  /** Posts, with all repeats. */
  readonly posts: number;
  /** Rows of the table that the route writes, and messages that were sent with them. */
  readonly rows: number;
  readonly messages: number;
  readonly secondRows: number;
  /** Posts that were answered with the stored reply, by Redis or by the database. */
  readonly fromRedis: number;
  readonly fromDatabase: number;
  /** Posts that were refused (in flight, a failure, a store that was away), and that got no response. */
  readonly refused: number;
  readonly lost: number;
  /** Replies that were not equal to the first one to the same key. */
  readonly different: number;
  /** Accepted keys that were posted once more at the end. */
  readonly audited: number;
}

/** What was counted of a workload under faults. */
export interface LedgerCounts {
  /** Messages whose transaction was committed. */
  readonly sent: number;
  /** Those of them whose commit was answered to the sender. */
  readonly acknowledged: number;
  /** What handlers have done, and how much of it there should be. */
  readonly effects: number;
  readonly expectedEffects: number;
  /** Repeats that had no effect: sends under a key that was used, messages that came again, results that came too late, replays of what was done. */
  readonly suppressed: {
    readonly sends: number;
    readonly arrivals: number;
    readonly lateResults: number;
    readonly replays: number;
  };
  readonly secondEffects: number;
  readonly lost: number;
  readonly invented: number;
  readonly orderViolations: number;
  readonly deadLetters: number;
  readonly poison: number;
  /** Transactions that were rolled back, in messages. */
  readonly rolledBack: number;
  /** Absent where writes did not come over HTTP. */
  readonly http?: LedgerHttp | undefined;
}

/** A kind of fault over a whole run. */
export interface LedgerFault {
  readonly name: string;
  readonly about: string;
  readonly injected: number;
  readonly hits: number;
}

/** One fault of a moment. Times are in milliseconds since the beginning. */
export interface FaultMark {
  readonly fault: string;
  readonly atMs: number;
  readonly lastedMs: number;
  readonly hits: number;
  /** From when it was put right until work went on: the next effect, or the last of what it had hit. */
  readonly recoveredMs: number | undefined;
}

/** How it was at one moment. */
export interface LedgerSample {
  readonly atMs: number;
  readonly open: number;
  /** Resident memory of each worker, in bytes. */
  readonly rss: readonly number[];
  /** Rows of the engine's own tables, as the server estimates them. */
  readonly rows: number;
  /** What the schema takes on disk. */
  readonly bytes: number;
}

/** What a built-in drill has done and seen: the ledger of its report, and what is drawn of it. */
export interface DrillLedger {
  readonly settings: Readonly<Record<string, string>>;
  /** Versions and machine. */
  readonly about: Readonly<Record<string, string>>;
  readonly startedAt: string;
  readonly counts: LedgerCounts;
  readonly faults: readonly LedgerFault[];
  readonly marks: readonly FaultMark[];
  /** How many were sent and had their effect in each step of time. */
  readonly timeline: {
    readonly stepMs: number;
    readonly sent: readonly number[];
    readonly effects: readonly number[];
  };
  readonly samples: readonly LedgerSample[];
}

/** A report with its ledger. */
export interface LedgerReport extends DrillReport {
  /** Absent where the drill did not come so far. */
  readonly ledger: DrillLedger | undefined;
}
