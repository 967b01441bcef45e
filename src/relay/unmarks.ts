import type { Effects } from '../kernel/effects.ts';
import type { OwnedUnit } from './owned-unit.ts';

interface UnmarksOptions {
  readonly effects: Effects;
  readonly unmark: (unit: number, seqs: readonly number[]) => Promise<void>;
  readonly onFailure: (error: unknown) => void;
}

const RETRY_MS = 250;

/**
 * Takes back the marks of started messages in a process that lives. Until it is written: a unit is mostly lost because the database
 * is away, and a message that was running at three such times would be taken for what kills its process.
 */
export class Unmarks {
  readonly #options: UnmarksOptions;
  readonly #underWay = new Set<Promise<void>>();
  #isStopped = false;

  constructor(options: UnmarksOptions) {
    this.#options = options;
  }

  /** This process lives: what it had started of a unit and did not finish is not to blame for anything. */
  add(unit: OwnedUnit | undefined): void {
    const seqs = unit?.marks.takeAll() ?? [];
    if (!unit || seqs.length === 0) return;
    const undone = this.#write(unit.token.unit, seqs);
    this.#underWay.add(undone);
    void undone.then(() => this.#underWay.delete(undone));
  }

  /** Tries each that is left once more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#underWay);
  }

  async #write(unit: number, seqs: readonly number[]): Promise<void> {
    const { effects, unmark, onFailure } = this.#options;
    for (;;) {
      const isLast = this.#isStopped;
      try {
        return await unmark(unit, seqs);
      } catch (error) {
        onFailure(error);
      }
      if (isLast) return;
      await new Promise<void>((resolve) => effects.setTimer(resolve, RETRY_MS));
    }
  }
}
