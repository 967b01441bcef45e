/** A function of an operator or a store, whichever. */
export type Call = (...args: readonly unknown[]) => Promise<unknown>;

/**
 * The same object, each of whose functions goes through `around`: also those that are added to it later. All of them answer with a promise, as
 * those of operators and stores do; what `around` throws is a rejection.
 */
export function callsOf<T extends object>(
  target: T,
  around: (name: string, args: readonly unknown[], call: Call) => Promise<unknown>,
): T {
  return new Proxy(target, {
    get: (of, name): unknown => {
      const value: unknown = Reflect.get(of, name);
      if (typeof value !== 'function' || typeof name !== 'string') return value;
      const call: Call = async (...args) => (value as Call).apply(of, [...args]);
      return async (...args: readonly unknown[]): Promise<unknown> => around(name, args, call);
    },
  });
}
