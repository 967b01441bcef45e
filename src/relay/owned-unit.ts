import { DueRows } from './due-rows.ts';
import { type HolderState, KeyLine, type LineChange } from './key-line.ts';
import { depthOf, isShort, noteFetched, takeTail, withoutPayload } from './line-room.ts';
import { type Lines, widthOf } from './lines.ts';
import type { Behind, Delivery, Token, UnitLoad } from './relay-store.ts';
import { Settling } from './settling.ts';
import { StartMarks } from './start-marks.ts';

/** What a unit asks of the process that owns it. */
export interface UnitSink {
  /** This delivery may run now. */
  runnable(delivery: Delivery): void;
  /** These places in line are next and their deliveries must be fetched; `isAhead`: without large payloads. */
  wanted(unit: OwnedUnit, line: KeyLine, seqs: readonly number[], isAhead: boolean): void;
  /** To be set aside behind a dead letter; without one: it is due and there is no place for it, so it is to stand in line as ready. */
  moved(unit: OwnedUnit, delivery: Delivery, behind?: Behind): void;
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
  readonly #lines = new Map<string, KeyLine>();
  readonly #running = new Map<number, Delivery>();
  readonly #settling = new Settling();
  /** Settled, but a read that is on its way may still show them. */
  readonly #fading = new Set<number>();
  readonly #due = new DueRows();
  readonly #editedTail = new Map<number, number>();
  #waitingKeys = 0;
  readonly #deadHolders = new Set<number>();

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
    return !this.#parks && this.#deadHolders.size > 0;
  }

  /** How many keys wait until one of theirs is tried again. */
  get waitingKeys(): number {
    return this.#waitingKeys;
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
      this.#hold(this.#line(key), seq, isDead ? 'dead' : this.#running.has(seq) ? 'runs' : 'waits');
    }
    if (this.phase === 'unloaded') this.phase = 'open';
  }

  /** A run of an earlier ownership is still going: its key stays busy and its row is not started a second time. */
  adoptRunning(delivery: Delivery): void {
    this.#running.set(delivery.seq, delivery);
    if (delivery.key !== undefined) this.#line(delivery.key).busy++;
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
    const line = this.#line(key);
    if (this.#isParking(line)) this.#park(line, delivery);
    else if (line.isFetching || line.tail.size > 0 || line.queue.size >= this.#depth(line)) {
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
    const line = key === undefined ? undefined : this.#line(key);
    if (line && this.#widths && this.#isToLineUp(line, seq)) {
      this.#due.lineUp(seq);
      if (line.isEmpty) this.#lines.delete(line.key);
      return this.#sink.moved(this, delivery);
    }
    this.#due.queue(seq);
    const kept = line && this.#isFarBack(line, seq) ? withoutPayload(delivery) : delivery;
    this.#buffer(kept);
    if (!line) return this.#run(kept);
    if (line.isHolder(seq)) line.addDue(kept);
    else line.push(kept);
    this.#advance(line);
  }

  /** The deliveries that `wanted` asked for. What did not come is no longer there. */
  addFetched(line: KeyLine, deliveries: readonly Delivery[]): void {
    line.isFetching = false;
    if (this.#widths) noteFetched(line, deliveries);
    for (const delivery of deliveries.toSorted((a, b) => a.seq - b.seq)) {
      if (this.#isParking(line)) this.#park(line, delivery);
      else {
        this.#buffer(delivery);
        line.push(delivery);
      }
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
    const line = this.#line(key);
    line.busy = Math.max(0, line.busy - 1);
    if (change === 'done' || change === 'yields') this.#free(line, seq);
    else this.#hold(line, seq, change === 'blocks' ? 'dead' : 'waits');
    if (change === 'blocks' && this.#parks) this.#parkAll(line);
    if (change === 'blocks' || (change === 'waits' && line.width <= 1)) this.#lighten(line);
    this.#advance(line);
  }

  /** A dead letter that others may pass is written: its key goes on. Before that a crash would run it again after them. */
  passed({ seq, key }: Delivery): void {
    const line = key === undefined ? undefined : this.#lines.get(key);
    if (!line) return;
    this.#free(line, seq);
    this.#advance(line);
  }

  /** More of a key may run at once than before. */
  widened(key: string): void {
    const line = this.#lines.get(key);
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
    const line = this.#lines.get(key);
    const more: Delivery[] = [];
    while (line && !line.isHeld && more.length < limit) {
      const next = line.queue.peek();
      // One that may have killed its process is started on its own.
      if (!next || next.starts > 0) break;
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
    this.#waitingKeys = 0;
    this.#deadHolders.clear();
    for (const { key } of this.#running.values()) if (key !== undefined) this.#line(key).busy++;
  }

  #isKnown(seq: number): boolean {
    return (
      this.#running.has(seq) ||
      this.#settling.has(seq) ||
      (this.#fading.size > 0 && this.#fading.has(seq)) ||
      this.#due.isQueued(seq)
    );
  }

  #line(key: string): KeyLine {
    let line = this.#lines.get(key);
    if (!line) this.#lines.set(key, (line = new KeyLine(key)));
    return line;
  }

  #advance(line: KeyLine): void {
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
    if (line.isEmpty) this.#lines.delete(line.key);
    else if (line.tail.size > 0 && !line.isFetching) {
      if (this.#isParking(line) || isShort(line, this.bufferedChars)) this.#fetchTail(line);
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
    return depthOf(line, this.bufferedChars);
  }

  /** So many of its line run before it that its payload would only take room. */
  #isFarBack(line: KeyLine, seq: number): boolean {
    const depth = this.#depth(line);
    return line.width === 1 ? line.isHeld && line.firstHolder !== seq : line.queue.size >= depth;
  }

  #hold(line: KeyLine, seq: number, state: HolderState): void {
    if (state === 'dead') this.#deadHolders.add(seq);
    else this.#deadHolders.delete(seq);
    const wasWaiting = line.isWaiting;
    line.hold(seq, state);
    this.#waitingKeys += Number(line.isWaiting) - Number(wasWaiting);
  }

  #free(line: KeyLine, seq: number): void {
    if (!line.isHeld) return;
    this.#deadHolders.delete(seq);
    const wasWaiting = line.isWaiting;
    line.free(seq);
    this.#waitingKeys += Number(line.isWaiting) - Number(wasWaiting);
  }

  /** What cannot run for a while takes no room from what can: its payload is fetched when it is started. */
  #lighten(line: KeyLine): void {
    line.isLight = true;
    line.queue.replace((delivery) => {
      this.#unbuffer(delivery);
      return withoutPayload(delivery);
    });
  }

  #parkAll(line: KeyLine): void {
    for (let next = line.queue.shift(); next; next = line.queue.shift()) {
      this.#unbuffer(next);
      this.#park(line, next);
    }
  }

  #isParking(line: KeyLine): boolean {
    return this.#parks && line.hasDeadHolder;
  }

  #park(line: KeyLine, delivery: Delivery): void {
    const seq = line.deadHolder ?? delivery.seq;
    const behind = { seq, isWritten: !this.#settling.has(seq) };
    this.#settling.add(delivery.seq, delivery.key);
    this.#hold(line, delivery.seq, 'dead');
    this.#sink.moved(this, delivery, behind);
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
