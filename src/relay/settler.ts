import type { Effects } from '../kernel/effects.ts';
import type { SettleAnswer, Settlement } from './relay-store.ts';

/** A result and what to do when it is known whether it was written. */
export interface PendingResult {
  readonly settlement: Settlement;
  readonly onAnswer: (answer: SettledAs) => void;
}

/** What became of one result. */
export type SettledAs =
  | { readonly kind: 'written' }
  | { readonly kind: 'refused'; readonly isUnitLost: boolean }
  | { readonly kind: 'impossible'; readonly error: unknown };

interface SettlerOptions {
  readonly effects: Effects;
  readonly settle: (settlements: readonly Settlement[]) => Promise<SettleAnswer>;
  readonly onFailure: (error: unknown) => void;
}

const MAX_BATCH = 1_000;
const MAX_IN_FLIGHT = 2;
// Results of the same few milliseconds share a commit. While one batch is on its way the next grows by itself.
const GATHER_MS = 2;
const RETRY_MS = 250;

/**
 * Writes results in batches, at most two on their way at once. A batch whose answer was lost is written again: what the
 * lost one did then shows as refused, which reloads the row and repeats nothing.
 */
export class Settler {
  readonly #options: SettlerOptions;
  /** Results that are written in one batch, whatever its size. */
  #queue: (readonly PendingResult[])[] = [];
  #size = 0;
  #inFlight = 0;
  #timer: unknown;
  #idle: (() => void)[] = [];
  #isStopped = false;

  constructor(options: SettlerOptions) {
    this.#options = options;
  }

  get isIdle(): boolean {
    return this.#size === 0 && this.#inFlight === 0;
  }

  add(settlement: Settlement, onAnswer: (answer: SettledAs) => void): void {
    this.addTogether([{ settlement, onAnswer }]);
  }

  /** Writes these in one batch: two batches on their way may be written in either order. */
  addTogether(results: readonly PendingResult[]): void {
    if (this.#isStopped) return;
    this.#queue.push(results);
    this.#size += results.length;
    if (this.#size >= MAX_BATCH) this.#flush();
    else if (this.#timer === undefined && this.#inFlight === 0) this.#arm(GATHER_MS);
  }

  /** Resolves when everything that was added so far has its answer. */
  whenIdle(): Promise<void> {
    if (this.isIdle) return Promise.resolve();
    this.#flush();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Gives up what is not written yet: whoever owns the rows next finds them as they were. */
  stop(): void {
    this.#isStopped = true;
    this.#queue = [];
    this.#size = 0;
    if (this.#timer !== undefined) this.#options.effects.clearTimer(this.#timer);
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  #arm(ms: number): void {
    this.#timer = this.#options.effects.setTimer(() => {
      this.#timer = undefined;
      this.#flush();
    }, ms);
  }

  #flush(): void {
    if (this.#timer !== undefined) this.#options.effects.clearTimer(this.#timer);
    this.#timer = undefined;
    while (this.#size > 0 && this.#inFlight < MAX_IN_FLIGHT) {
      // The second one on its way should be worth a commit of its own.
      if (this.#inFlight > 0 && this.#size < MAX_BATCH / 2) return;
      this.#inFlight++;
      void this.#write(this.#takeBatch());
    }
  }

  #takeBatch(): readonly PendingResult[] {
    const batch: PendingResult[] = [];
    let groups = 0;
    for (const group of this.#queue) {
      if (batch.length >= MAX_BATCH) break;
      batch.push(...group);
      groups++;
    }
    this.#queue = this.#queue.slice(groups);
    this.#size -= batch.length;
    return batch;
  }

  async #write(batch: readonly PendingResult[]): Promise<void> {
    const settlements = batch.map(({ settlement }) => settlement);
    let answer: SettleAnswer | undefined;
    while (!answer) {
      if (this.#isStopped) return;
      try {
        answer = await this.#options.settle(settlements);
      } catch (error) {
        this.#options.onFailure(error);
        await new Promise<void>((resolve) => this.#options.effects.setTimer(resolve, RETRY_MS));
      }
    }
    this.#inFlight--;
    for (const { settlement, onAnswer } of batch) onAnswer(answerFor(settlement, answer));
    this.#flush();
    if (!this.isIdle) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}

function answerFor({ seq, token }: Settlement, answer: SettleAnswer): SettledAs {
  if (answer.settled.has(seq)) return { kind: 'written' };
  if (answer.failed?.has(seq)) return { kind: 'impossible', error: answer.failed.get(seq) };
  return { kind: 'refused', isUnitLost: answer.lostUnits.has(token.unit) };
}
