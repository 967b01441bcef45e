import type { OwnedUnit } from './owned-unit.ts';

/** How much there was to do in each unit of late. */
export class Heat {
  readonly #felt = new WeakMap<OwnedUnit, { readonly heat: number; readonly endings: number }>();

  /** With every look-round: what ended before counts half, what has ended since whole. */
  feel(units: Iterable<OwnedUnit>): void {
    for (const unit of units) {
      const { heat, endings } = this.#felt.get(unit) ?? { heat: 0, endings: 0 };
      this.#felt.set(unit, { heat: heat / 2 + unit.endings - endings, endings: unit.endings });
    }
  }

  of(unit: OwnedUnit): number {
    return this.#felt.get(unit)?.heat ?? 0;
  }
}
