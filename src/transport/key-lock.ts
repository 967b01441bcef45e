/** Keys that are held. */
export interface HeldKeys {
  /** A number for each key that grows each time it is held anew, by whomever: who has a smaller one than was seen before is too late. */
  readonly fences: ReadonlyMap<string, string>;
  /** Gives them back, where they are still its own. Never rejects; what cannot be given back ends by itself. */
  release(): Promise<void>;
}

/** Holds keys for one at a time, for a short while. */
export interface KeyLock {
  /**
   * Resolves when all of them are held. Rejects when one is not to be had in time; nothing is held then. Callers give keys in
   * one order, or two would wait for each other.
   */
  hold(keys: readonly string[]): Promise<HeldKeys>;
}
