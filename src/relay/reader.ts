import type { Effects } from '../kernel/effects.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { OwnedUnit } from './owned-unit.ts';
import type { ReadAnswer, ReadRequest, RelaySession, Snapshot } from './relay-store.ts';

/** What a reader works with. */
export interface ReaderOptions<Tx> {
  readonly session: RelaySession<Tx>;
  readonly dispatcher: Dispatcher<Tx>;
  readonly effects: Effects;
  readonly workerId: () => string;
  readonly onFailure: (during: string, error: unknown) => void;
  /** The database answers again. */
  readonly onAnswer: () => void;
  /** At the latest after this long it looks again, whatever it was told. */
  readonly pollMs: number;
}

// How much is kept in memory ahead of the handlers, over all units; the reader sleeps above half of it.
const AHEAD_ROWS = 4_096;
const AHEAD_CHARS = 32 * 1024 * 1024;
const ROWS_PER_READ = 2_048;
// What a unit is asked for that had no more the last time.
const CAUGHT_UP_ROWS = 64;
// How many due rows a read may add.
const DUE_ROWS = 256;
// So many keys wait for a retry that each more would cost memory and not speed: nothing new is read until some were tried again.
// Those behind a dead letter are not counted: they wait for somebody, and the others would wait for him too.
const MAX_WAITING_KEYS = 200_000;
// While it falls asleep: transactions that were open then may not have seen that it wants to be woken.
const DOZE_POLL_MS = 5;
const DOZE_MS = 1_000;
// Where nobody can wake it, it looks this often, and less when nothing comes.
const FIRST_POLL_MS = 20;
const LAST_POLL_MS = 250;
const FAILURE_MS = 250;
// Under a steady load it need not be woken: senders are spared the notification, and it looks this often by itself.
const ROUSE_READS = 3;
const BUSY_POLL_MS = 5;
// Where there are lines it stays awake for a moment after each message that came or ended: they are sent one by one, by many at once, and
// a commit that notifies waits for all others that do.
const FLOW_POLL_MS = 20;
const FLOW_MS = 100;

/** Reads for all units of one process, one read at a time, and sleeps when there is nothing. */
export class Reader<Tx> {
  readonly #options: ReaderOptions<Tx>;
  #since: Snapshot | undefined;
  #isStopped = false;
  #wake: (() => void) | undefined;
  #resleep: (() => void) | undefined;
  /** The earliest time a row is known to become due that no read has seen yet. */
  #lookAtMs = Infinity;
  #isWoken = false;
  #loop: Promise<void> | undefined;
  #canBeWoken = false;
  #doze:
    | { readonly atMs: number; readonly open: readonly string[] | undefined; toldMs: number; as: string }
    | undefined;
  #busyReads = 0;
  #endingsSeen = 0;
  #flowsUntilMs = -Infinity;
  #pollMs = FIRST_POLL_MS;
  /** Enough is in memory; nothing new was asked for. */
  #isFull = false;
  /** Some unit has more than was read. */
  #hasMore = false;
  #waitsForRoom = false;
  /** The last read found nothing that is not known, and all units are read. */
  #isExhausted = false;

  constructor(options: ReaderOptions<Tx>) {
    this.#options = options;
  }

  /** There was nothing to read any more when it looked last. */
  get isExhausted(): boolean {
    return this.#isExhausted;
  }

  start(canBeWoken: boolean): void {
    this.#canBeWoken = canBeWoken;
    this.#loop ??= this.#run();
  }

  /** There is little left to start: reads on if it stopped because there was enough. */
  refill(): void {
    if (this.#waitsForRoom) this.wake();
  }

  /** A row becomes due after this long: looks then, or before. */
  lookWithin(ms: number): void {
    const atMs = this.#options.effects.monoMs() + ms;
    if (atMs >= this.#lookAtMs) return;
    this.#lookAtMs = atMs;
    // Asleep: it lies down again, for a shorter time.
    this.#resleep?.();
  }

  /** Looks again at once. */
  wake(): void {
    this.#isExhausted = false;
    this.#isWoken = true;
    this.#wake?.();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.wake();
    await this.#loop;
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      this.#isWoken = false;
      // What is due by now is in what is read now.
      if (this.#lookAtMs <= this.#options.effects.monoMs()) this.#lookAtMs = Infinity;
      try {
        await this.#load();
        await this.#rest(await this.#read());
      } catch (error) {
        this.#options.onFailure('read', error);
        await this.#sleep(FAILURE_MS);
      }
    }
  }

  /** Loads the units that must be, all results of which are written. */
  async #load(): Promise<void> {
    const { dispatcher, session, effects } = this.#options;
    const due = [...dispatcher.units.values()].filter(
      (unit) =>
        unit.phase === 'unloaded' && !unit.hasSettling && unit.loadAfterMs <= effects.monoMs() && this.#isServed(unit),
    );
    if (due.length === 0) return;
    const before = new Map(
      due.map((unit) => [unit.token.unit, { unit, endings: unit.endings, forgets: unit.forgets }]),
    );
    for (const load of await session.load([...before.keys()])) {
      const then = before.get(load.unit);
      if (!then || dispatcher.units.get(load.unit) !== then.unit || then.unit.forgets !== then.forgets) continue;
      // A run ended meanwhile: what was loaded may be older than its result.
      if (then.unit.endings !== then.endings) dispatcher.reload(then.unit);
      else then.unit.load(load);
    }
  }

  async #read(): Promise<ReadAnswer | undefined> {
    const { dispatcher, session } = this.#options;
    const units = [...dispatcher.units.values()].filter((unit) => unit.phase === 'open' && this.#isServed(unit));
    if (units.length === 0) return undefined;
    dispatcher.isReading = true;
    try {
      const request = this.#request(units);
      const answer = await session.read(request);
      this.#options.onAnswer();
      // Another server answers now, or the same one after a crash. It may have lost what was seen, and give the same places in line
      // and the same transaction ids to others: nothing that was concluded before holds.
      const isOther = this.#since !== undefined && answer.snapshot.server !== this.#since.server;
      this.#since = answer.snapshot;
      if (isOther || answer.isLateOverflow) for (const unit of units) dispatcher.reload(unit);
      noteBehind(units, request, answer);
      this.#hasMore = this.#isFull || units.some(({ isBehind }) => isBehind);
      this.#accept(answer, new Map(units.map((unit) => [unit.token.unit, unit])));
      return answer;
    } finally {
      dispatcher.isReading = false;
      // Also those that were left out of it: what they settled meanwhile is in no answer any more.
      for (const unit of dispatcher.units.values()) unit.faded();
    }
  }

  #isServed(unit: OwnedUnit): boolean {
    return this.#options.dispatcher.laneOf(unit.token.unit)?.isPaused === false;
  }

  #request(units: readonly OwnedUnit[]): ReadRequest {
    const full = this.#atTheirShare(units, isFull);
    const crowded = this.#atTheirShare(units, isCrowded);
    const takesNone = (unit: OwnedUnit): boolean => full.has(unit) || crowded.has(unit);
    this.#isFull = full.size > 0 || crowded.size > 0;
    // Those of which none are asked for are in no answer: counted, they would be as many more of the others.
    const known = sum(units, (unit) => (full.has(unit) ? 0 : unit.knownDueCount));
    // Shared among those that had more the last time: one with a long line must get past it.
    const behind = units.filter((unit) => unit.isBehind && !takesNone(unit)).length;
    const perUnit = Math.max(16, Math.ceil(Math.min(ROWS_PER_READ, this.#room(units)) / Math.max(1, behind)));
    return {
      units: units.map((unit) => ({
        unit: unit.token.unit,
        after: unit.cursor,
        skipsBlocked: unit.skipsBlocked,
        withoutDue: full.has(unit),
        limit: takesNone(unit) ? 0 : Math.max(0, (unit.isBehind ? perUnit : CAUGHT_UP_ROWS) - unit.runnable),
      })),
      since: this.#since,
      dueLimit: known + (full.size > 0 ? CAUGHT_UP_ROWS : DUE_ROWS),
    };
  }

  /**
   * How many rows one read may add. Once all handlers together have reached the limit, one that is below its share of it gets no more
   * than that share: with 12 busy handlers 20,000 rows were in memory where 4,096 were meant.
   */
  #room(units: readonly OwnedUnit[]): number {
    if (sum(units, ({ bufferedChars }) => bufferedChars) >= AHEAD_CHARS) return CAUGHT_UP_ROWS;
    const left = AHEAD_ROWS - runnableOf(units);
    return left > 0
      ? left
      : AHEAD_ROWS / new Set(units.map(({ token }) => this.#options.dispatcher.laneOf(token.unit))).size;
  }

  /** Where the limit is reached by all together: the units of those handlers that have their share of it. */
  #atTheirShare(units: readonly OwnedUnit[], isReached: typeof isFull): ReadonlySet<OwnedUnit> {
    if (!isReached(units, 1)) return new Set();
    const lanes = new Map<unknown, OwnedUnit[]>();
    for (const unit of units) {
      const lane = this.#options.dispatcher.laneOf(unit.token.unit);
      lanes.set(lane, [...(lanes.get(lane) ?? []), unit]);
    }
    return new Set([...lanes.values()].filter((ofLane) => isReached(ofLane, lanes.size)).flat());
  }

  #accept(answer: ReadAnswer, asked: ReadonlyMap<number, OwnedUnit>): void {
    const { dispatcher } = this.#options;
    for (const [number, unit] of asked) {
      if (dispatcher.units.get(number) === unit && (answer.pokes.get(number) ?? 0) !== unit.poke)
        dispatcher.reload(unit);
    }
    const open = (number: number): OwnedUnit | undefined => {
      const unit = asked.get(number);
      return unit?.phase === 'open' && dispatcher.units.get(number) === unit ? unit : undefined;
    };
    for (const delivery of answer.ready) open(delivery.unit)?.addReady(delivery);
    for (const [number, seq] of answer.lastSeqs) {
      const unit = open(number);
      if (unit && !unit.isBehind) unit.cursor = Math.max(unit.cursor, seq);
    }
    for (const delivery of answer.due) open(delivery.unit)?.addDue(delivery);
  }

  /** Waits until there may be something to read. */
  async #rest(answer: ReadAnswer | undefined): Promise<void> {
    const { pollMs } = this.#options;
    if (this.#isWoken || this.#isStopped) return;
    if (!answer) {
      this.#isExhausted = !this.#hasUnloaded();
      return this.#sleep(pollMs);
    }
    const found = answer.ready.length > 0;
    this.#isExhausted = !found && !this.#hasMore && !this.#hasUnloaded();
    const isFlowing = this.#isFlowing(found);
    this.#busyReads = found ? this.#busyReads + 1 : isFlowing ? this.#busyReads : 0;
    if (this.#busyReads >= ROUSE_READS) await this.#rouse();
    if (this.#hasMore) return this.#waitForRoom(found);
    if (found) this.#pollMs = FIRST_POLL_MS;
    if (found && !this.#doze) await this.#sleep(Math.min(BUSY_POLL_MS, answer.nextDueInMs ?? BUSY_POLL_MS));
    else if (isFlowing && !this.#doze) await this.#sleep(Math.min(FLOW_POLL_MS, answer.nextDueInMs ?? FLOW_POLL_MS));
    else await this.#fallAsleep(answer);
  }

  /** Messages of lines came or ended a moment ago. */
  #isFlowing(found: boolean): boolean {
    const { dispatcher, effects } = this.#options;
    const lined = dispatcher.lanes.filter(({ handler }) => handler.lines);
    if (lined.length === 0) return false;
    const endings = lined.reduce((all, { linedEndings }) => all + linedEndings, 0);
    const nowMs = effects.monoMs();
    if (found || endings !== this.#endingsSeen) this.#flowsUntilMs = nowMs + FLOW_MS;
    this.#endingsSeen = endings;
    return nowMs < this.#flowsUntilMs;
  }

  /**
   * With enough ahead it waits until that is nearly worked off; otherwise it reads on at once. Not after a read that found nothing: a unit
   * that has enough is asked for nothing, and while its breaker is open it would be asked without end.
   */
  async #waitForRoom(found: boolean): Promise<void> {
    if (found && !this.#isFull && runnableOf(this.#options.dispatcher.units.values()) < AHEAD_ROWS / 2) return;
    this.#waitsForRoom = true;
    // Others may have news while one handler does not get on.
    this.#pollMs = Math.min(LAST_POLL_MS, this.#pollMs * 1.5);
    await this.#sleep(Math.min(this.#pollMs, this.#options.pollMs));
    this.#waitsForRoom = false;
  }

  async #fallAsleep({ snapshot, nextDueInMs = Infinity }: ReadAnswer): Promise<void> {
    const { session, effects, workerId, pollMs } = this.#options;
    if (!this.#canBeWoken) {
      this.#pollMs = Math.min(LAST_POLL_MS, this.#pollMs * 1.5);
      return this.#sleep(Math.min(this.#pollMs, nextDueInMs));
    }
    const as = workerId();
    if (!this.#doze) {
      await session.doze(as);
      this.#doze = { atMs: effects.monoMs(), open: undefined, toldMs: effects.monoMs(), as };
      return;
    }
    const open = this.#doze.open ?? snapshot.xip;
    this.#doze = { ...this.#doze, open };
    // A crash of the database forgets who sleeps, and a worker that was expired has joined under a new name.
    if (effects.monoMs() - this.#doze.toldMs >= pollMs || this.#doze.as !== as) {
      await session.doze(as);
      this.#doze = { ...this.#doze, toldMs: effects.monoMs(), as };
    }
    const isUnsure =
      open.some((xid) => BigInt(xid) >= BigInt(snapshot.xmin)) && effects.monoMs() - this.#doze.atMs < DOZE_MS;
    await this.#sleep(Math.min(isUnsure ? DOZE_POLL_MS : pollMs, nextDueInMs));
  }

  async #rouse(): Promise<void> {
    if (!this.#doze) return;
    this.#doze = undefined;
    await this.#options.session.rouse(this.#options.workerId());
  }

  #hasUnloaded(): boolean {
    for (const unit of this.#options.dispatcher.units.values()) {
      if (unit.phase === 'unloaded' && this.#isServed(unit)) return true;
    }
    return false;
  }

  #sleep(ms: number): Promise<void> {
    const { effects } = this.#options;
    const untilMs = effects.monoMs() + ms;
    return new Promise((resolve) => {
      if (this.#isWoken || this.#isStopped) return resolve();
      let timer: unknown;
      const arm = (): void => {
        const leftMs = Math.min(untilMs, this.#lookAtMs) - effects.monoMs();
        timer = effects.setTimer(() => this.#wake?.(), Math.max(0, Math.ceil(leftMs)));
      };
      arm();
      this.#resleep = () => {
        effects.clearTimer(timer);
        arm();
      };
      this.#wake = () => {
        effects.clearTimer(timer);
        this.#wake = undefined;
        this.#resleep = undefined;
        resolve();
      };
    });
  }
}

/** Notes which units have more than was read. One that was asked for nothing may have. */
function noteBehind(units: readonly OwnedUnit[], { units: asked }: ReadRequest, { ready }: ReadAnswer): void {
  const read = new Map<number, number>();
  for (const { unit } of ready) read.set(unit, (read.get(unit) ?? 0) + 1);
  for (const [i, unit] of units.entries()) unit.isBehind = (read.get(unit.token.unit) ?? 0) >= (asked[i]?.limit ?? 0);
}

/** Whether these have one of so many parts of what may be in memory and ready to run. */
function isFull(units: readonly OwnedUnit[], parts: number): boolean {
  const chars = sum(units, ({ bufferedChars }) => bufferedChars);
  return chars >= AHEAD_CHARS / parts;
}

/** Whether these have one of so many parts of the keys that may wait. What is due of them is still read: it makes room. */
function isCrowded(units: readonly OwnedUnit[], parts: number): boolean {
  return sum(units, ({ waitingKeys }) => waitingKeys) >= MAX_WAITING_KEYS / parts;
}

function runnableOf(units: Iterable<OwnedUnit>): number {
  return sum(units, ({ runnable }) => runnable);
}

function sum(units: Iterable<OwnedUnit>, of: (unit: OwnedUnit) => number): number {
  let total = 0;
  for (const unit of units) total += of(unit);
  return total;
}
