type Effect<Tx> = (tx: Tx) => Promise<void>;

/** What one commit holds: one effect, or several that run one after the other. */
export type CommitEffects<Tx> = Effect<Tx> | readonly Effect<Tx>[];

/** As a list. */
export function effectsOf<Tx>(effects: CommitEffects<Tx>): readonly Effect<Tx>[] {
  return typeof effects === 'function' ? [effects] : effects;
}

/** All of them as one, where a transaction cannot be taken back from an effect that has ended. */
export function asOneEffect<Tx>(effects: CommitEffects<Tx>): Effect<Tx> {
  if (typeof effects === 'function') return effects;
  return async (tx) => {
    for (const effect of effects) await effect(tx);
  };
}
