import type { BreakerGate } from './breaker-gate.ts';
import { Fifo } from './fifo.ts';
import type { HandlerDefinition } from './handler.ts';
import type { OwnedUnit } from './owned-unit.ts';
import type { Delivery, Lane } from './relay-store.ts';
import type { Run } from './run.ts';

// While fresh work waits, retries get at most this part of a handler's slots: a failing dependency must not starve the rest.
const RETRY_PART = 4;

/** One handler in this process: what may run next, and what runs. */
export class LaneState<Tx> {
  readonly lane: Lane;
  readonly handler: HandlerDefinition<Tx>;
  readonly breaker: BreakerGate | undefined;
  isPaused = false;
  /** How many may run at once, as an operator set it. */
  limit: number | undefined;
  /** Slots in use: one for each run, or for each group that shares a commit. */
  busySlots = 0;
  /** How many runs have ended, where there are lines. */
  linedEndings = 0;
  /** In the order they were started, so the first is the first to run out of time. */
  readonly runs: Set<Run<Tx>> = new Set();
  readonly #fresh = new Fifo<Delivery>();
  readonly #retries = new Fifo<Delivery>();
  #runningRetries = 0;
  /** Epoch time at which one of its messages succeeded here last. */
  succeededAtMs: number = -Infinity;
  #unwatch: (() => void) | undefined;

  constructor(lane: Lane, handler: HandlerDefinition<Tx>, breaker?: BreakerGate) {
    this.lane = lane;
    this.handler = handler;
    this.breaker = breaker;
    breaker?.lanes.add(this);
  }

  /** From now on its units among these hear of keys of which more may run at once than before. */
  watch(units: ReadonlyMap<number, OwnedUnit>): void {
    const { firstUnit, unitCount } = this.lane;
    this.#unwatch = this.handler.lines?.onChange((key) => {
      for (let bucket = 0; bucket < unitCount; bucket++) units.get(firstUnit + bucket)?.widened(key);
    });
  }

  unwatch(): void {
    this.#unwatch?.();
  }

  get concurrency(): number {
    return this.limit ?? this.handler.concurrency;
  }

  /** Nothing of it is started for now, however many slots are free. */
  get isShut(): boolean {
    return this.isPaused || this.breaker?.isClosed === false;
  }

  /** The id under which the delivery is a dead letter. */
  dlqIdOf({ id }: Delivery): string {
    return `${id}:${this.lane.handlerId}`;
  }

  get queued(): number {
    return this.#fresh.size + this.#retries.size;
  }

  /** Those in line that have not failed before. */
  get untried(): number {
    return this.#fresh.size;
  }

  push(delivery: Delivery): void {
    (delivery.state === 'waiting' ? this.#retries : this.#fresh).push(delivery);
  }

  get hasSlot(): boolean {
    return !this.isShut && this.busySlots < this.concurrency;
  }

  /** The next delivery to start. */
  next(): Delivery | undefined {
    const retrySlots = Math.max(1, Math.floor(this.concurrency / RETRY_PART));
    const isRetryTurn = this.#fresh.size === 0 || this.#runningRetries < retrySlots;
    return (isRetryTurn ? this.#retries.shift() : undefined) ?? this.#fresh.shift();
  }

  /** The next delivery to try as a probe: of what never ran, or of what has failed, where there is such. */
  nextProbe(isFreshTurn: boolean): Delivery | undefined {
    const [first, second] = isFreshTurn ? [this.#fresh, this.#retries] : [this.#retries, this.#fresh];
    return first.shift() ?? second.shift();
  }

  began(run: Run<Tx>): void {
    this.runs.add(run);
    if (run.delivery.state === 'waiting') this.#runningRetries++;
  }

  ended(run: Run<Tx>): void {
    if (this.handler.lines) this.linedEndings++;
    if (this.runs.delete(run) && run.delivery.state === 'waiting') this.#runningRetries--;
  }

  /** Takes back what is queued of a unit. */
  removeUnit(unit: number): void {
    const ofUnit = (delivery: Delivery): boolean => delivery.unit === unit;
    this.#fresh.remove(ofUnit);
    this.#retries.remove(ofUnit);
  }
}
