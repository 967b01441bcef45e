import type { CommitEffects } from './commit-effects.ts';
import type { RetryState } from '../kernel/retry-state.ts';
import type { Envelope } from '../outbox/envelope.ts';
import type { ForeignMessage, OutboxStore, SendResult } from '../outbox/outbox-store.ts';
import type { Faults } from './faults.ts';
import type { HouseReport, KeepOptions } from './house-report.ts';
import type { RelayEvent } from './relay-event.ts';

/**
 * What a relay needs from a database. One delivery is one (message, handler); its place is a *unit*: a slice of the key space
 * of one *lane* (a handler, or a handler in one generation). A unit has one owner at a time, told by (unit, owner, epoch), and
 * every write that names a token is refused once the lease says otherwise.
 */
export interface RelayStore<Tx, SendTx = Tx> extends OutboxStore<SendTx> {
  /** Looks whether the schema fits and opens the relay's own connections. Throws `SCHEMA_TOO_OLD`, `SCHEMA_TOO_NEW`, … */
  openRelay(): Promise<RelaySession<Tx>>;
}

/** A handler as a worker announces it. */
export interface HandlerRegistration {
  readonly name: string;
  /** The types of the messages it takes. */
  readonly types: readonly string[];
  /** Messages of the worker's generation only. */
  readonly isPinned: boolean;
  /** An operator may run it again for messages it has handled. */
  readonly isRepeatable: boolean;
  /** What stands between it and what it calls. */
  readonly breaker?: { readonly name: string; readonly failures: number } | undefined;
}

/** A process as it announces itself. */
export interface WorkerRegistration {
  readonly id: string;
  /** For people: host and process id. */
  readonly name: string;
  readonly service: string;
  readonly generation: number | undefined;
  readonly handlers: readonly HandlerRegistration[];
  readonly leaseMs: number;
}

/** Where the messages of one handler stand in line. `units` are `firstUnit` … `firstUnit + unitCount - 1`. */
export interface Lane {
  readonly lane: number;
  readonly handler: string;
  /** The number of the handler: what follows the message's id in the id of a dead letter. */
  readonly handlerId: number;
  readonly firstUnit: number;
  readonly unitCount: number;
}

/** The unit whose owner does the housekeeping; it has no messages. */
export const HOUSE_UNIT = -1;

/** A unit this process owns. */
export interface Token {
  readonly unit: number;
  readonly epoch: number;
}

/** A unit that may be taken: nobody owns it, or its owner is no longer alive. */
export interface FreeUnit extends Token {
  /** Its last owner did not give it back: what it had started may have killed it. */
  readonly isOrphaned: boolean;
}

/** How long a live worker whose connections were all ended has to give a sign of life. The others then take it for dead. */
export const COME_BACK_MS = 2_000;

/** What a look-round tells. The dead have been buried in it. */
export interface Survey {
  /** Live workers with the lanes they serve, this one included. */
  readonly workers: readonly { readonly id: string; readonly lanes: readonly number[] }[];
  /** What the database says this worker owns, the house unit too: an answer that told so may have been lost. */
  readonly owned: readonly Token[];
  /** Free units of the lanes this worker serves, and the house unit. */
  readonly free: readonly FreeUnit[];
  /** Lanes that are paused; all of them in a global pause. */
  readonly pausedLanes: readonly number[];
  /** Lanes of handlers of which an operator set how many may run at once in each process. */
  readonly limits: readonly { readonly lane: number; readonly limit: number }[];
  /** The breakers of this worker's service, but for those that have never opened. */
  readonly breakers: readonly BreakerSight[];
  /** A worker's connections are gone; after so long a look-round tells whether it came back. Absent: all are there, as far as that is known. */
  readonly againInMs?: number;
}

/** A breaker as the database has it. */
export interface BreakerSight {
  readonly name: string;
  /** One whose prober is dead is open, and a message may be tried at once. */
  readonly state: 'closed' | 'open' | 'probing';
  /** From 0, raised by each change. */
  readonly epoch: number;
  /** Until a message may be tried; absent unless it is open, and while it is held open by hand. */
  readonly probeInMs?: number;
  /** How many probes have failed since it opened. */
  readonly probes: number;
  /** It is this worker that tries a message. */
  readonly isMine: boolean;
}

/** What a worker makes of a breaker of its service. Done only if its epoch is still the one that was seen. */
export type BreakerChange = { readonly name: string; readonly epoch: number } & (
  | { /** From closed. */ readonly kind: 'open'; readonly probeInMs: number; readonly error: DeliveryError }
  | { /** Its time has come, or its prober is dead: this worker tries a message. */ readonly kind: 'claim' }
  | { /** This worker's probe went well. */ readonly kind: 'close' }
  | {
      /** This worker's probe failed; without an error it came to nothing, which is not counted. */
      readonly kind: 'reopen';
      readonly probeInMs: number;
      readonly error: DeliveryError | undefined;
    }
);

/** What became of a change, and the breaker after it. */
export interface BreakerAnswer {
  readonly isChanged: boolean;
  readonly sight: BreakerSight;
}

/** A transaction snapshot of the database. */
export interface Snapshot {
  /** Another one after each start of a server: what came after the snapshot there says nothing about what comes here. */
  readonly server: string;
  readonly xmin: string;
  readonly xmax: string;
  /** Transactions in progress. */
  readonly xip: readonly string[];
}

/** Where a delivery row stands: in the stream, or waiting for its time (a retry, or scheduled by its sender). */
export type OpenState = 'ready' | 'waiting';

/** One delivery as it is read. */
export interface Delivery extends Envelope {
  readonly unit: number;
  readonly seq: number;
  readonly state: OpenState;
  /** From 0, raised by each edit; a result for an older version is refused. */
  readonly version: number;
  readonly id: string;
  readonly type: string;
  readonly key: string | undefined;
  /** JSON text; absent when it is large and must be fetched when it is started. */
  readonly payload: string | undefined;
  /** Ended attempts of this cycle. */
  readonly attempts: number;
  /** From 0, raised by each replay. */
  readonly cycle: number;
  /** From 0, raised when a handler that had succeeded is run again on purpose. Part of its idempotency key. */
  readonly rerun: number;
  readonly retry: RetryState | undefined;
  /** How often it was started by a process that died, as far as marked. */
  readonly starts: number;
  readonly /** Of the way to the database, in a row. */ faults?: Faults | undefined;
  readonly idempotencyKey: string;
  readonly createdAtMs: number;
}

/** What stands in the way of a key: a delivery that waits for a retry, or a dead one that blocks. */
export interface Holder {
  readonly key: string;
  readonly seq: number;
  /** A dead letter; otherwise it waits for its next attempt. */
  readonly isDead: boolean;
}

/** What a new owner, or one that was poked, must know of a unit before it reads. All of one snapshot. */
export interface UnitLoad {
  readonly unit: number;
  readonly poke: number;
  readonly holders: readonly Holder[];
}

/** What to read of one unit: up to `limit` rows above `after`. */
export interface UnitRequest {
  readonly unit: number;
  readonly after: number;
  readonly limit: number;
  /** Rows behind a dead letter of their key are left out, however many: they cannot run before somebody pokes the unit. */
  readonly skipsBlocked: boolean;
  /** Its waiting rows are not wanted: enough of its handler is in memory. */
  readonly withoutDue?: boolean;
}

/** What to read. Late rows and due rows are given for all units named, whatever the limits. */
export interface ReadRequest {
  readonly units: readonly UnitRequest[];
  /** The snapshot of this process's read before; absent at the first. */
  readonly since: Snapshot | undefined;
  /** How many due rows at most, over all units. */
  readonly dueLimit: number;
}

export interface ReadAnswer {
  readonly snapshot: Snapshot;
  /** In the order of `seq`: new rows above `after`, and rows below it that became visible since the last read. */
  readonly ready: readonly Delivery[];
  /** Where rows were left out: the last `seq` of the unit, all of which was looked at unless `limit` rows were given. */
  readonly lastSeqs: ReadonlyMap<number, number>;
  /** A huge transaction committed late: set all cursors to 0 and read again, skipping what is known. */
  readonly isLateOverflow: boolean;
  /** Waiting rows whose time has come, the longest due first. The same row comes again until it is settled. */
  readonly due: readonly Delivery[];
  /** Milliseconds until the next waiting row of these units is due, beyond those in `due`; absent when there is none. */
  readonly nextDueInMs: number | undefined;
  /** The poke counters of the units named, those that are not 0. */
  readonly pokes: ReadonlyMap<number, number>;
}

/** The last error of a failed attempt, as it is kept: no secrets, a cut stack. */
export interface DeliveryError {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly kind: string;
  /** Trying again would not help: it was not tried again for what it is. */
  readonly isFinal?: true;
  readonly stack?: string;
  /** Of a dead letter: its error group, where the store keeps groups. */
  readonly group?: string;
}

/** Which dead letters without a copy are wanted. */
export interface UnmirroredRequest {
  readonly limit: number;
  /** None of these types. */
  readonly without?: readonly string[];
  /** Only of this type. */
  readonly type?: string;
  /** Only those behind this one. */
  readonly after?: { readonly unit: number; readonly seq: number };
}

/** A delivery that failed for good. */
export interface DeadLetter {
  readonly delivery: Delivery;
  readonly error: DeliveryError;
  readonly failedAtMs: number;
}

/** Which row a result is for, and under which token it was started. */
export interface SettleTarget {
  readonly token: Token;
  readonly seq: number;
  readonly state: OpenState;
  readonly version: number;
  /** A replay since then began another: a failure that is written again, because its answer was lost, is not of that one. */
  readonly cycle: number;
}

/** A row that is wanted. */
export type FetchTarget = Pick<SettleTarget, 'seq' | 'state' | 'version'>;

/** A row that is about to be started, and how often that makes. A number and not a step: a lost answer counts nothing twice. */
export type MarkTarget = SettleTarget & { readonly starts: number };

/** A row of which an attempt has ended, with how long that took; of one that was not run it is not told. */
export type EndedTarget = SettleTarget & { readonly durationMs?: number };

/** How one run ended, or what else becomes of a row, to be written. */
export type Settlement =
  | (SettleTarget & { readonly kind: 'done'; readonly attempts: number; readonly durationMs: number })
  | (EndedTarget & {
      /** To be tried again after `delayMs`. */
      readonly kind: 'retry';
      readonly delayMs: number;
      /** It keeps its place in the line of its key meanwhile. */
      readonly holds: boolean;
      readonly retry: RetryState;
      readonly attempts: number;
      readonly error: DeliveryError;
      readonly /** Absent: it failed by itself. */ faults?: Faults;
    })
  | (EndedTarget & {
      /** Failed for good: a dead letter. */
      readonly kind: 'dead';
      readonly attempts: number;
      readonly error: DeliveryError;
      /** Later messages of its key wait behind it. */
      readonly holds: boolean;
      /**
       * It did not fail itself and is parked behind this one, whichever version it has now; refused unless that one is a dead letter and
       * blocks the key, still. Those parked in one call behind the same one are all parked or all refused, but for rows that are gone.
       */
      readonly behind?: number;
    })
  | (SettleTarget & {
      /** Looked at again after `delayMs`; no attempt was made. */
      readonly kind: 'postpone';
      readonly delayMs: number;
      readonly holds: boolean;
      readonly error: DeliveryError;
      readonly /** Absent: as many as before. */ faults?: Faults;
    })
  /** Its time has come, but not its turn: it is read with those that are ready from now on. */
  | (SettleTarget & { readonly kind: 'ready' });

export interface SettleAnswer {
  /** The `seq`s that were written. The others were refused: the lease is lost, or the row changed. */
  readonly settled: ReadonlySet<number>;
  /** Units whose lease is lost. */
  readonly lostUnits: ReadonlySet<number>;
  /** Results the database cannot take, with why. Each was tried alone. */
  readonly failed?: ReadonlyMap<number, unknown>;
}

/** What became of a commit. */
export type CommitOutcome = 'committed' | 'refused';

/** A finished run whose effect and completion are committed together. */
export type CommitTarget = SettleTarget & { readonly attempts: number; readonly durationMs: number };

/** What an operator sees as running: reported with the beat for what runs longer than one. */
export interface RunningReport {
  readonly id: string;
  readonly unit: number;
  readonly attempt: number;
  readonly startedMsAgo: number;
}

/** What workers are told: there is something to read, for those that sleep · a worker has come or gone, or has given units back. */
export type News = 'messages' | 'units';

/** One worker's conversation with the database. Every call is bounded by a timeout and rejects when the database is away. */
export interface RelaySession<Tx> {
  /**
   * Makes handlers and lanes known and joins. Adopts messages that waited for such a handler, in their place in line. Nobody owns
   * a new lane before those are adopted that were sent past it: what is still open then is waited for, up to five seconds.
   */
  register(worker: WorkerRegistration): Promise<readonly Lane[]>;
  /** Says that the worker lives. False: it was buried, and owns nothing any more. */
  beat(workerId: string, leaseMs: number, running: readonly RunningReport[]): Promise<boolean>;
  survey(workerId: string): Promise<Survey>;
  /** Which start of which server takes writes, over which connections: another text after what all clients feel. Rejects when none does. */
  incarnation(): Promise<string>;
  /** Takes free units, each only if its epoch is still the one that was seen. */
  acquire(workerId: string, units: readonly Token[]): Promise<readonly Token[]>;
  /** Gives units back, clean. */
  release(workerId: string, tokens: readonly Token[]): Promise<void>;
  /** Leaves: gives back everything. */
  leave(workerId: string): Promise<void>;
  /** Changes a breaker. Nothing: there is no such breaker, or the worker was buried. */
  changeBreaker(workerId: string, change: BreakerChange): Promise<BreakerAnswer | undefined>;
  load(units: readonly number[]): Promise<readonly UnitLoad[]>;
  read(request: ReadRequest): Promise<ReadAnswer>;
  /** Rows in the order of `seq`, where still open in that state and version; with large payloads too, unless `isAhead` of their start. */
  fetch(rows: readonly FetchTarget[], unit: number, isAhead?: boolean): Promise<readonly Delivery[]>;
  settle(workerId: string, settlements: readonly Settlement[]): Promise<SettleAnswer>;
  /** Writes how often each row was started, before it is started again. Gives the `seq`s that were marked. */
  mark(workerId: string, targets: readonly MarkTarget[]): Promise<ReadonlySet<number>>;
  /** Takes one start back from each row: whoever marked it lost the unit, or stops, and lives. Needs no lease; never below 0. */
  unmark(unit: number, seqs: readonly number[]): Promise<void>;
  /**
   * Runs `effects` in a transaction and finishes the targets in the same commit. `refused`: all is rolled back. Throws what
   * they throw, rolled back, and `CommitLost` where its connection was lost: the row tells what became of it. Of several effects each
   * is given a `tx` that dies with it.
   */
  commit(workerId: string, targets: readonly CommitTarget[], effects: CommitEffects<Tx>): Promise<CommitOutcome>;
  /**
   * Stores messages that came from elsewhere, each once however often it arrives within `rememberMs`, in one commit of its own. The
   * answers are in their order. Throws `OUTBOX_FULL`.
   */
  receive(messages: readonly ForeignMessage[], rememberMs: number): Promise<readonly SendResult[]>;
  /**
   * Those of these names that messages may be taken as which a handler takes that somebody serves now, as the process has it that
   * registered it last. A store that has no such thing takes what its own process knows.
   */
  taken?(names: readonly string[]): Promise<readonly string[]>;
  /**
   * Copies of dead letters of a service have come back from a broker: those that are still dead, in the cycle that is named, are
   * replayed. Gives the ids of which the service has something open; of the others nothing is known here.
   */
  takeBack?(
    service: string,
    copies: readonly { readonly id: string; readonly cycle: number }[],
  ): Promise<readonly string[]>;
  /** Dead letters of these units of which no copy was noted since they died, by unit and place in line. */
  unmirrored(units: readonly number[], which: UnmirroredRequest): Promise<readonly DeadLetter[]>;
  /** Notes that there are copies of these. Needs no lease: a second copy does no harm. */
  mirrored(deliveries: readonly Pick<Delivery, 'unit' | 'seq' | 'cycle'>[]): Promise<void>;
  /** From now on senders wake this worker. */
  doze(workerId: string): Promise<void>;
  /** Senders need not wake it any more. */
  rouse(workerId: string): Promise<void>;
  /** Calls back when somebody tells the workers something. False: there is no way to be told here, poll. */
  listen(onNews: (news: News) => void): Promise<boolean>;
  /** The housekeeper's round: expired keys, the history's ring, adoption, the sample of what is open. */
  tidy(keep: KeepOptions): Promise<HouseReport>;
  /** Is told all that the relay tells, for what a store counts. */
  observe?(event: RelayEvent): void;
  /**
   * Carries on what operators have begun, a step of it. Answers after how many milliseconds it wants the next; absent: nothing is
   * going on.
   */
  carryOn?(): Promise<number | undefined>;
  close(): Promise<void>;
}
