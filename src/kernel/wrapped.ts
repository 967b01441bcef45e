/**
 * Calls `work` inside a wrapper exactly once, and gives its own result: a wrapper that throws, calls it twice or forgets to call it
 * has no say in what becomes of it. Where both end at once there is no promise: five for each message took longer than its span.
 */
export function wrapped<T, Given>(
  wrap: (work: (given?: Given) => T) => unknown,
  work: (given?: Given) => T,
): T | Promise<Awaited<T>> {
  const once = new Once(work);
  let wrapping: unknown;
  try {
    wrapping = wrap((given) => once.result(given));
  } catch {
    return once.result();
  }
  if (!isThenable(wrapping)) return once.result();
  const inAnyCase = (): void => once.begin();
  const later = once.hasBegun ? undefined : once.later();
  wrapping.then(inAnyCase, inAnyCase);
  return later ?? once.result();
}

/** Does its work when it is first called, and gives the same result each time. */
class Once<T, Given> {
  readonly #work: (given?: Given) => T;
  #ended: { readonly value: T } | { readonly error: unknown } | undefined;
  #tell: (() => void) | undefined;

  constructor(work: (given?: Given) => T) {
    this.#work = work;
  }

  get hasBegun(): boolean {
    return this.#ended !== undefined;
  }

  begin(given?: Given): void {
    if (this.#ended) return;
    try {
      this.#ended = { value: this.#work(given) };
    } catch (error) {
      this.#ended = { error };
    }
    this.#tell?.();
  }

  result(given?: Given): T {
    this.begin(given);
    const ended = this.#ended;
    if (ended && 'value' in ended) return ended.value;
    throw ended?.error;
  }

  /** Resolves with its result once it was called, whether or not whoever called it ever ends. */
  async later(): Promise<Awaited<T>> {
    await new Promise<void>((resolve) => {
      this.#tell = resolve;
    });
    return await this.result();
  }
}

/** It is a promise, of whatever make. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
}
