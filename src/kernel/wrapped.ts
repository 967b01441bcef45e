/**
 * Calls `work` inside a wrapper exactly once, and gives its own result: a wrapper that throws, calls it twice or forgets to call it
 * has no say in what becomes of it.
 */
export function wrapped<T, Given>(
  wrap: (work: (given?: Given) => Promise<T>) => unknown,
  work: (given?: Given) => Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let started: Promise<T> | undefined;
    const once = (given?: Given): Promise<T> => {
      if (started) return started;
      started = (async () => work(given))();
      started.then(resolve, reject);
      return started;
    };
    const inAnyCase = (): void => void once();
    (async () => wrap(once))().then(inAnyCase, inAnyCase);
  });
}
