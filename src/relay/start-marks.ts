import type { Delivery } from './relay-store.ts';

/** Which starts of a unit's rows were marked in this ownership: how often each had been started before, and whether that is written. */
export class StartMarks {
  /** How many starts are still to be marked: the owner before died, and one of what it had started may be why. */
  carefulStarts: number;
  readonly #marks = new Map<number, { readonly before: number; isWritten: boolean }>();

  constructor(carefulStarts: number) {
    this.carefulStarts = carefulStarts;
  }

  /** How often it was started by processes that died. What this one has marked itself does not count. */
  startsOf({ seq, starts }: Delivery): number {
    return this.#marks.get(seq)?.before ?? starts;
  }

  /** It must be marked before it is started. */
  isNeeded(delivery: Delivery): boolean {
    const mark = this.#marks.get(delivery.seq);
    return mark ? !mark.isWritten : delivery.starts > 0 || this.carefulStarts > 0;
  }

  /** A mark is on its way, or written. */
  note(delivery: Delivery, isWritten: boolean): void {
    this.#marks.set(delivery.seq, { before: this.startsOf(delivery), isWritten });
  }

  /** Its run has a result. */
  forget(seq: number): void {
    this.#marks.delete(seq);
  }

  /** Rows this process has marked and not ended: it lives, so they are not to blame. */
  takeAll(): readonly number[] {
    const seqs = [...this.#marks.keys()];
    this.#marks.clear();
    return seqs;
  }
}
