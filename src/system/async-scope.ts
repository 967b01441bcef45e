/** A value that follows the asynchronous work begun inside `run`, where the platform can do that. */
export interface AsyncScope<T extends object> {
  run<R>(value: T, work: () => R): R;
  current(): T | undefined;
}

interface Storage<T> {
  run<R>(value: T, work: () => R): R;
  getStore(): T | undefined;
}

interface Platform {
  readonly process?: {
    readonly getBuiltinModule?: (id: string) => { readonly AsyncLocalStorage?: new () => Storage<never> } | undefined;
  };
}

/** Follows work with Node's `AsyncLocalStorage`; in browsers nothing is followed, and `current` knows nothing. */
export function asyncScope<T extends object>(): AsyncScope<T> {
  const { process } = globalThis as Platform;
  const made = process?.getBuiltinModule?.('node:async_hooks')?.AsyncLocalStorage;
  const storage = made && (new made() as Storage<T>);
  return {
    run: (value, work) => (storage ? storage.run(value, work) : work()),
    current: () => storage?.getStore(),
  };
}
