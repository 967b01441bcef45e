const MANY_CALLS = 5_000;

/** Finds an engine that asks again and again without a pause: thousands of calls without any time passing. */
export class SpinWatch {
  #atMs = 0;
  #calls = 0;

  /** A call at this time: nothing as a rule; `begins` at the call that is one too many, `spins` from then on. */
  note(nowMs: number): 'begins' | 'spins' | undefined {
    this.#calls = nowMs === this.#atMs ? this.#calls + 1 : 0;
    this.#atMs = nowMs;
    if (this.#calls < MANY_CALLS) return undefined;
    return this.#calls === MANY_CALLS ? 'begins' : 'spins';
  }
}
