import { AsyncLocalStorage } from 'node:async_hooks';
import { HoldfastError } from '../kernel/error.ts';

/**
 * A pool for an ORM that is to work in effects only. While an effect runs it has one client, that of the effect, for
 * whoever asks in its asynchronous context; anywhere else it has none. So nothing the ORM opens by itself gets out of the effect.
 */
export class EffectPool {
  /** As the ORM sees it: of the same class as the pool of the store. */
  readonly pool: object;
  readonly #current = new AsyncLocalStorage<object>();

  constructor(pool: object) {
    const own: Readonly<Record<PropertyKey, unknown>> = {
      connect: async () => this.#client(),
      query: async (...args: readonly unknown[]) =>
        (this.#client() as { query(...all: readonly unknown[]): unknown }).query(...args),
      end: async () => undefined,
    };
    this.pool = new Proxy(pool, {
      get: (target, name): unknown => {
        if (Object.hasOwn(own, name)) return own[name];
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' && name !== 'Client' && name !== 'constructor' ? value.bind(target) : value;
      },
    });
  }

  /** Runs `work`, within which the pool has this client. */
  lending<T>(client: object, work: () => T): T {
    return this.#current.run(client, work);
  }

  #client(): object {
    const client = this.#current.getStore();
    if (client === undefined) throw new HoldfastError('TRANSACTION_NOT_OPEN', { client: 'pg' });
    return client;
  }
}
