/** Runs jobs one after the other, in the order they came; one that fails does not hold up the next. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(job: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(job, job);
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}
