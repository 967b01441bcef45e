import type { RunFacts } from './entry.ts';

/**
 * What a handler sees of its run; all of it may be taken out of it. A class, because an object that is written down with a getter gets
 * a shape of its own, which lives until old memory is collected, and with it everything the getter knows.
 */
export class RunView<Commit> implements RunFacts {
  readonly number: number;
  readonly commit: Commit;
  readonly #run: RunFacts;

  constructor(run: RunFacts, commit: Commit) {
    this.number = run.number;
    this.commit = commit;
    this.#run = run;
  }

  /** Made only if somebody looks at it. */
  get signal(): AbortSignal {
    return this.#run.signal;
  }

  readonly childKey = (step: string): string => this.#run.childKey(step);
}
