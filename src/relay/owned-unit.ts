import { KeyLine } from './key-line.ts';
import type { Behind, Delivery, Token, UnitLoad } from './relay-store.ts';

/** What a unit asks of the process that owns it. */
export interface UnitSink {
  /** This delivery may run now. */
  runnable(delivery: Delivery): void;
  /** These places in line are next and their deliveries must be fetched. */
  wanted(unit: OwnedUnit, line: KeyLine, seqs: readonly number[]): void;
  /** This delivery stands behind a dead letter and is to be set aside. */
  parked(unit: OwnedUnit, delivery: Delivery, behind: Behind): void;
}

/** How the end of a run changes its line. `passes`: others go on once that is written, see `passed`. */
export type LineChange = 'done' | 'waits' | 'blocks' | 'passes';

// Beyond this many behind one that runs, only the place in line is kept in memory: 8 bytes each, however long the line is.
const DEEP = 8;
const FETCH_AT_ONCE = 50;

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
  /** How many starts are still to be marked: the owner before died, and one of what it had started may be why. */
  carefulStarts: number;
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
  readonly #lines = new Map<string, KeyLine>();
  readonly #running = new Map<number, Delivery>();
  readonly #settling = new Map<number, string | undefined>();
  /** Settled, but a read that is on its way may still show them. */
  readonly #fading = new Set<number>();
  readonly #queuedDue = new Set<number>();
  /** Starts that were marked in this ownership: how often it had been started before, and whether the mark is written. */
  readonly #marks = new Map<number, { readonly before: number; isWritten: boolean }>();
  readonly #editedTail = new Map<number, number>();
  #onSettled: { readonly key: string; readonly resolve: () => void }[] = [];
  #waitingKeys = 0;
  readonly #deadHolders = new Set<number>();

  constructor(token: Token, sink: UnitSink, options: { parks: boolean; carefulStarts: number }) {
    this.token = token;
    this.#sink = sink;
    this.#parks = options.parks;
    this.carefulStarts = options.carefulStarts;
  }

  get runningCount(): number {
    return this.#running.size;
  }

  /** Nothing runs and nothing is on its way to the database. */
  get isQuiet(): boolean {
    return this.#running.size === 0 && this.#settling.size === 0;
  }

  get hasSettling(): boolean {
    return this.#settling.size > 0;
  }

  /** Due rows that are known: the database shows them again with every read. */
  get knownDueCount(): number {
    return this.#queuedDue.size + this.#running.size + this.#settling.size;
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
    this.#queuedDue.clear();
    this.#editedTail.clear();
    this.#clearLines();
  }

  /** Takes what the database says about the unit; rows may be read from its beginning now. */
  load({ poke, holders }: UnitLoad): void {
    this.poke = poke;
    // What ended since it was forgotten is written by now, and may have been changed again since: the database knows.
    this.#clearLines();
    for (const { key, seq, isDead } of holders) this.#hold(this.#line(key), seq, isDead);
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
    else if (line.isHeld || line.isFetching || line.tail.size > 0 || line.queue.size >= DEEP) {
      line.tail.push(seq);
      if (delivery.version !== 0) this.#editedTail.set(seq, delivery.version);
    } else {
      this.#buffer(delivery);
      line.queue.push(delivery);
      this.#advance(line);
    }
  }

  addDue(delivery: Delivery): void {
    const { seq, key } = delivery;
    if (this.#isKnown(seq)) return;
    this.#queuedDue.add(seq);
    const line = key === undefined ? undefined : this.#line(key);
    const kept = line?.isHeld && line.firstHolder !== seq ? withoutPayload(delivery) : delivery;
    this.#buffer(kept);
    if (!line) return this.#run(kept);
    if (line.isHolder(seq)) line.addDue(kept);
    else line.queue.push(kept);
    this.#advance(line);
  }

  /** The deliveries that `wanted` asked for. What did not come is no longer there. */
  addFetched(line: KeyLine, deliveries: readonly Delivery[]): void {
    line.isFetching = false;
    for (const delivery of deliveries.toSorted((a, b) => a.seq - b.seq)) {
      if (this.#isParking(line)) this.#park(line, delivery);
      else {
        this.#buffer(delivery);
        line.queue.push(delivery);
      }
    }
    this.#advance(line);
  }

  /** The version each of these places in line had when it was read. */
  versionOf(seq: number): number {
    return this.#editedTail.get(seq) ?? 0;
  }

  /** How often it was started by processes that died. What this one has marked itself does not count. */
  startsOf({ seq, starts }: Delivery): number {
    return this.#marks.get(seq)?.before ?? starts;
  }

  /** It must be marked before it is started. */
  needsMark(delivery: Delivery): boolean {
    const mark = this.#marks.get(delivery.seq);
    return mark ? !mark.isWritten : delivery.starts > 0 || this.carefulStarts > 0;
  }

  /** A mark is on its way, or written. */
  noteMark(delivery: Delivery, isWritten: boolean): void {
    this.#marks.set(delivery.seq, { before: this.startsOf(delivery), isWritten });
  }

  /** Rows this process has marked and not ended: it lives, so they are not to blame. */
  takeMarks(): readonly number[] {
    const seqs = [...this.#marks.keys()];
    this.#marks.clear();
    return seqs;
  }

  started(delivery: Delivery): void {
    this.#queuedDue.delete(delivery.seq);
    this.runnable--;
    this.#unbuffer(delivery);
    this.#running.set(delivery.seq, delivery);
  }

  /** The run is over in memory; its result is still to be written. */
  ended({ seq, key }: Delivery, change: LineChange): void {
    this.endings++;
    this.#running.delete(seq);
    this.#settling.set(seq, key);
    if (key === undefined) return;
    const line = this.#line(key);
    line.busy = Math.max(0, line.busy - 1);
    if (change === 'done') this.#free(line, seq);
    else this.#hold(line, seq, change === 'blocks');
    if (change === 'blocks' && this.#parks) this.#parkAll(line);
    if (change === 'waits' || change === 'blocks') this.#lighten(line);
    this.#advance(line);
  }

  /** A dead letter that others may pass is written: its key goes on. Before that a crash would run it again after them. */
  passed({ seq, key }: Delivery): void {
    const line = key === undefined ? undefined : this.#lines.get(key);
    if (!line) return;
    this.#free(line, seq);
    this.#advance(line);
  }

  /** It is not running any more and nothing is known about its row: the unit must be loaded anew. */
  interrupted({ seq }: Delivery): void {
    this.endings++;
    this.#running.delete(seq);
  }

  /** The result is written. `isReading`: a read that began before may still show the row; `faded` when it is over. */
  settled({ seq, key }: Delivery, isReading: boolean): void {
    this.#settling.delete(seq);
    this.#marks.delete(seq);
    if (isReading) this.#fading.add(seq);
    if (this.#onSettled.length === 0 || [...this.#settling.values()].includes(key)) return;
    for (const waiting of this.#onSettled.filter((one) => one.key === key)) waiting.resolve();
    this.#onSettled = this.#onSettled.filter((one) => one.key !== key);
  }

  /** Resolves when no result of this key is on its way to the database; nothing when none is. */
  whenSettled(key: string): Promise<void> | undefined {
    for (const settling of this.#settling.values()) {
      if (settling === key) return new Promise((resolve) => this.#onSettled.push({ key, resolve }));
    }
    return undefined;
  }

  /** The read that was on its way is over. */
  faded(): void {
    this.#fading.clear();
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

  #clearLines(): void {
    this.#lines.clear();
    this.#waitingKeys = 0;
    this.#deadHolders.clear();
    for (const { key } of this.#running.values()) if (key !== undefined) this.#line(key).busy++;
  }

  #isKnown(seq: number): boolean {
    return (
      this.#running.has(seq) ||
      (this.#settling.size > 0 && this.#settling.has(seq)) ||
      (this.#fading.size > 0 && this.#fading.has(seq)) ||
      (this.#queuedDue.size > 0 && this.#queuedDue.has(seq))
    );
  }

  #line(key: string): KeyLine {
    let line = this.#lines.get(key);
    if (!line) this.#lines.set(key, (line = new KeyLine(key)));
    return line;
  }

  #advance(line: KeyLine): void {
    const delivery = line.take();
    if (delivery) {
      line.busy = 1;
      this.#run(delivery);
    } else if (line.isEmpty) this.#lines.delete(line.key);
    else if (line.tail.size > 0 && !line.isFetching && (line.isHeld ? this.#isParking(line) : line.busy === 0)) {
      this.#fetchTail(line);
    }
  }

  #fetchTail(line: KeyLine): void {
    const seqs: number[] = [];
    while (seqs.length < FETCH_AT_ONCE) {
      const seq = line.tail.shift();
      if (seq === undefined) break;
      seqs.push(seq);
    }
    line.isFetching = true;
    this.#sink.wanted(this, line, seqs);
  }

  #hold(line: KeyLine, seq: number, isDead: boolean): void {
    if (isDead) this.#deadHolders.add(seq);
    else this.#deadHolders.delete(seq);
    const wasWaiting = line.isWaiting;
    line.hold(seq, isDead);
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
    this.#settling.set(delivery.seq, delivery.key);
    this.#hold(line, delivery.seq, true);
    this.#sink.parked(this, delivery, behind);
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

function withoutPayload(delivery: Delivery): Delivery {
  return { ...delivery, payload: undefined };
}
