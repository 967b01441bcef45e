import { DueRows } from './due-rows.ts';
import { runsAlone } from './faults.ts';
import type { KeyLine, LineChange } from './key-line.ts';
import { KeyQueues } from './key-queues.ts';
import { depthOf, isShort, noteFetched, PARK_AT_ONCE, takeTail, withoutPayload } from './line-room.ts';
import { type Lines, widthOf } from './lines.ts';
import type { Delivery, Token, UnitLoad } from './relay-store.ts';
import { Settling } from './settling.ts';
import { StartMarks } from './start-marks.ts';

/** What a unit asks of the process that owns it. */
export interface UnitSink {
  /** This delivery may run now. */
  runnable(delivery: Delivery): void;
  /** These places in line are next and their deliveries must be fetched; `isAhead`: without large payloads. */
  wanted(unit: OwnedUnit, line: KeyLine, seqs: readonly number[], isAhead: boolean): void;
  /** To be parked together, in their order, behind a dead letter; without one: due and without a place, so to stand in line as ready. */
  moved(unit: OwnedUnit, deliveries: readonly Delivery[], behind?: number): void;
  /** It was to leave, and nothing runs there any more. */
  quiet(): void;
}

/**
 * One unit in the memory of its owner: who is next in each key, what runs, what is known. It never waits and touches no
 * database; the same rows in the same order give the same starts.
 */
export class OwnedUnit {
  readonly token: Token;
  /** Where the reader stands. */
  cursor = 0;
  /** The last read did not give all it has. */
  isBehind = true;
  /** The operators' counter as of the last load. */
  poke = 0;
  /** `unloaded`: holders must be read before rows · `open`: rows may be read · `leaving`: nothing is started any more. */
  phase: 'unloaded' | 'open' | 'leaving' = 'unloaded';
  readonly marks: StartMarks;
  /** Raised whenever a run ends: a load that was on its way then tells the past. */
  endings = 0;
  /** Not loaded before this time of the monotonic clock. */
  loadAfterMs: number = -Infinity;
  /** Raised whenever it starts over: what was asked for before is not wanted any more. */
  forgets = 0;
  /** Deliveries that may run and were not started yet. */
  runnable = 0;
  /** The length of all payloads in memory that were not started yet. */
  bufferedChars = 0;
  readonly #sink: UnitSink;
  readonly #parks: boolean;
  readonly #widths: Lines | undefined;
  readonly #taken: () => number;
  readonly #lines = new KeyQueues();
  readonly #running = new Map<number, Delivery>();
  readonly #settling = new Settling();
  /** Settled, but a read that is on its way may still show them. */
  readonly #fading = new Set<number>();
  readonly #due = new DueRows();
  readonly #editedTail = new Map<number, number>();

  constructor(
    token: Token,
    sink: UnitSink,
    options: { parks: boolean; carefulStarts: number; lines?: Lines | undefined; taken?: () => number },
  ) {
    this.token = token;
    this.#sink = sink;
    this.#widths = options.lines;
    this.#taken = options.taken ?? (() => 0);
    this.#parks = options.parks;
    this.marks = new StartMarks(options.carefulStarts);
  }

  get runningCount(): number {
    return this.#running.size;
  }

  /** Nothing runs and nothing is on its way to the database. */
  get isQuiet(): boolean {
    return this.#running.size === 0 && !this.hasSettling;
  }

  get hasSettling(): boolean {
    return this.#settling.size > 0 || this.#due.isWriting;
  }

  /** Due rows that are known: the database shows them again with every read. */
  get knownDueCount(): number {
    return this.#due.size + this.#running.size + this.#settling.size;
  }

  /** What stands behind its dead letters need not be read. Where it is parked it must. */
  get skipsBlocked(): boolean {
    return !this.#parks && this.#lines.areSomeBlocked;
  }

  /** How many keys wait until one of theirs is tried again. */
  get waitingKeys(): number {
    return this.#lines.waitingCount;
  }

  /** Forgets what is queued; what runs goes on. The unit must be loaded again before it is read. */
  forget(): void {
    if (this.phase === 'open') this.phase = 'unloaded';
    this.forgets++;
    this.cursor = 0;
    this.isBehind = true;
    this.runnable = 0;
    this.bufferedChars = 0;
    this.#due.forgetQueued();
    this.#editedTail.clear();
    this.#clearLines();
  }

  /** Takes what the database says about the unit; rows may be read from its beginning now. */
  load({ poke, holders }: UnitLoad): void {
    this.poke = poke;
    // What ended since it was forgotten is written by now, and may have been changed again since: the database knows.
    this.#clearLines();
    for (const { key, seq, isDead } of holders) {
      this.#lines.hold(this.#lines.of(key), seq, isDead ? 'dead' : this.#running.has(seq) ? 'runs' : 'waits');
    }
    if (this.phase === 'unloaded') this.phase = 'open';
  }

  /** A run of an earlier ownership is still going: its key stays busy and its row is not started a second time. */
  adoptRunning(delivery: Delivery): void {
    this.#running.set(delivery.seq, delivery);
    if (delivery.key !== undefined) this.#lines.of(delivery.key).busy++;
  }

  addReady(delivery: Delivery): void {
    const { seq, key } = delivery;
    if (seq > this.cursor) this.cursor = seq;
    if (this.#isKnown(seq)) return;
    if (key === undefined) {
      this.#buffer(delivery);
      this.#run(delivery);
      return;
    }
    const line = this.#lines.of(key);
    if (line.isFetching || line.tail.size > 0 || line.queue.size >= this.#depth(line)) {
      line.tail.push(seq);
      if (delivery.version !== 0) this.#editedTail.set(seq, delivery.version);
    } else {
      this.#buffer(delivery);
      line.push(delivery);
      this.#advance(line);
    }
  }

  addDue(delivery: Delivery): void {
    const { seq, key } = delivery;
    if (this.#isKnown(seq) || this.#due.isLinedUp(seq)) return;
    const line = key === undefined ? undefined : this.#lines.of(key);
    if (line && this.#widths && this.#isToLineUp(line, seq)) {
      this.#due.lineUp(seq);
      if (line.isEmpty) this.#lines.drop(line);
      return this.#sink.moved(this, [delivery]);
    }
    this.#due.queue(seq);
    const kept = line && this.#isFarBack(line, seq) ? withoutPayload(delivery) : delivery;
    this.#buffer(kept);
    if (!line) return this.#run(kept);
    if (line.isHolder(seq)) line.addDue(kept);
    else line.push(kept);
    this.#advance(line);
  }

  /** The deliveries that `wanted` asked for, all of them. */
  addFetched(line: KeyLine, deliveries: readonly Delivery[]): void {
    line.isFetching = false;
    if (this.#widths) noteFetched(line, deliveries);
    for (const delivery of deliveries.toSorted((a, b) => a.seq - b.seq)) {
      this.#buffer(delivery);
      line.push(delivery);
    }
    this.#advance(line);
  }

  /** The version each of these places in line had when it was read. */
  versionOf(seq: number): number {
    return this.#editedTail.get(seq) ?? 0;
  }

  started(delivery: Delivery): void {
    this.#due.unqueue(delivery.seq);
    this.runnable--;
    this.#unbuffer(delivery);
    this.#running.set(delivery.seq, delivery);
  }

  /** The run is over in memory; its result is still to be written. */
  ended({ seq, key }: Delivery, change: LineChange): void {
    this.endings++;
    this.#running.delete(seq);
    this.#settling.add(seq, key);
    if (key === undefined) return;
    const line = this.#lines.of(key);
    line.busy = Math.max(0, line.busy - 1);
    if (change === 'done' || change === 'yields') this.#lines.free(line, seq);
    else this.#lines.hold(line, seq, change === 'blocks' ? 'dead' : 'waits');
    if (change === 'blocks') line.burying++;
    if (change === 'blocks' || (change === 'waits' && line.width <= 1)) this.#lighten(line);
    this.#advance(line);
  }

  /** A dead letter is written: what stands behind it may be parked. */
  buried({ seq, key }: Delivery): void {
    const line = this.#lines.find(key);
    if (!line?.isDead(seq)) return;
    line.burying = Math.max(0, line.burying - 1);
    if (this.#parks) this.#advance(line);
  }

  /** A dead letter that others may pass is written: its key goes on. Before that a crash would run it again after them. */
  passed({ seq, key }: Delivery): void {
    const line = this.#lines.find(key);
    if (!line) return;
    this.#lines.free(line, seq);
    this.#advance(line);
  }

  /** More of a key may run at once than before. */
  widened(key: string): void {
    const line = this.#lines.find(key);
    if (line) this.#advance(line);
  }

  /** It is not running any more and nothing is known about its row: the unit must be loaded anew. */
  interrupted({ seq }: Delivery): void {
    this.endings++;
    this.#running.delete(seq);
    this.#tellQuiet();
  }

  /** The result is written. `isReading`: a read that began before may still show the row; `faded` when it is over. */
  settled({ seq, key }: Delivery, isReading: boolean): void {
    if (!this.#due.settled(seq, isReading)) {
      this.marks.forget(seq);
      if (isReading) this.#fading.add(seq);
      this.#settling.remove(seq, key);
    }
    this.#tellQuiet();
  }

  /** Resolves when no result of this key is being written; nothing when none is, or where several run at once: it might never be so. */
  whenSettled(key: string): Promise<void> | undefined {
    return this.#widthOf(key) > 1 ? undefined : this.#settling.whenNoneOf(key);
  }

  /** The read that was on its way is over. */
  faded(): void {
    this.#fading.clear();
    this.#due.faded();
  }

  /** More messages of a key that is about to run, for those that share a commit; they run in this order or not at all. */
  takeMore(key: string, limit: number): readonly Delivery[] {
    const line = this.#lines.find(key);
    const more: Delivery[] = [];
    while (line && !line.isHeld && more.length < limit) {
      const next = line.queue.peek();
      // One that may have killed its process, or its connection, is started on its own.
      if (!next || next.starts > 0 || runsAlone(next.faults)) break;
      line.queue.shift();
      more.push(next);
      this.runnable++;
      line.busy++;
    }
    return more;
  }

  #tellQuiet(): void {
    if (this.phase === 'leaving' && this.isQuiet) this.#sink.quiet();
  }

  #clearLines(): void {
    this.#lines.clear();
    for (const { key } of this.#running.values()) if (key !== undefined) this.#lines.of(key).busy++;
  }

  #isKnown(seq: number): boolean {
    return (
      this.#running.has(seq) ||
      this.#settling.has(seq) ||
      (this.#fading.size > 0 && this.#fading.has(seq)) ||
      this.#due.isQueued(seq)
    );
  }

  #advance(line: KeyLine): void {
    if (this.#isParking(line)) this.#parkNext(line);
    let width = this.#widthOf(line.key);
    let delivery = line.take(width);
    const isMoving = delivery !== undefined;
    while (delivery) {
      line.busy++;
      this.#run(delivery);
      // Each that is taken leaves less room for others, and how wide a line is may depend on that.
      width = this.#widthOf(line.key);
      delivery = line.take(width);
    }
    if (isMoving && !this.#widths) return;
    line.noteWidth(width);
    if (line.isEmpty) this.#lines.drop(line);
    else if (line.tail.size > 0 && !line.isFetching) {
      const isNext = this.#isParking(line) ? line.queue.size === 0 : isShort(line, this.bufferedChars);
      if (isNext) this.#fetchTail(line);
    }
    if (width === 0 && !line.isLight) this.#lighten(line);
  }

  #widthOf(key: string): number {
    return widthOf(this.#widths, key, this.#taken());
  }

  /** What is due is read again with every read until it is run: so many that wait for a place would be read without end. */
  #isToLineUp(line: KeyLine, seq: number): boolean {
    if (line.isHolder(seq)) return false;
    const width = line.hasDeadHolder ? 0 : this.#widthOf(line.key);
    return width === 0 || (this.#due.isFull && (line.queue.size > 0 || line.busy >= width));
  }

  #fetchTail(line: KeyLine): void {
    line.isFetching = true;
    this.#sink.wanted(this, line, takeTail(line), line.width > 1);
  }

  #depth(line: KeyLine): number {
    if (this.#widths) line.noteWidth(this.#widthOf(line.key));
    if (this.#isParking(line)) return PARK_AT_ONCE;
    return depthOf(line, this.bufferedChars);
  }

  /** So many of its line run before it that its payload would only take room. */
  #isFarBack(line: KeyLine, seq: number): boolean {
    const depth = this.#depth(line);
    return line.width === 1 ? line.isHeld && line.firstHolder !== seq : line.queue.size >= depth;
  }

  /** What cannot run for a while takes no room from what can: its payload is fetched when it is started. */
  #lighten(line: KeyLine): void {
    line.isLight = true;
    line.queue.replace((delivery) => {
      this.#unbuffer(delivery);
      return withoutPayload(delivery);
    });
  }

  #isParking(line: KeyLine): boolean {
    return this.#parks && line.hasDeadHolder;
  }

  /**
   * Parks what is at hand of the line: from its front, together, and once all before it is written. So an operator who replays the key
   * meanwhile, or a process that takes over, finds its beginning parked and the rest ready, never one of those before one of these:
   * what is replayed runs before what is ready.
   */
  #parkNext(line: KeyLine): void {
    const behind = line.deadHolder;
    if (behind === undefined || line.busy > 0 || line.burying > 0) return;
    const next: Delivery[] = [];
    for (let one = line.queue.shift(); one; one = line.queue.shift()) {
      this.#unbuffer(one);
      this.#due.unqueue(one.seq);
      this.#settling.add(one.seq, one.key);
      this.#lines.hold(line, one.seq, 'dead');
      next.push(one);
    }
    line.burying = next.length;
    if (next.length > 0) this.#sink.moved(this, next, behind);
  }

  #run(delivery: Delivery): void {
    this.runnable++;
    this.#sink.runnable(delivery);
  }

  #buffer({ payload }: Delivery): void {
    this.bufferedChars += payload?.length ?? 0;
  }

  #unbuffer({ payload }: Delivery): void {
    this.bufferedChars -= payload?.length ?? 0;
  }
}
