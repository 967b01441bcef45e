import type { IdempotencyStore } from '../../src/idempotency/index.ts';
import { personId } from '../../src/idempotency/record-id.ts';

/**
 * Where the first request of a person can be stopped: in a hook before the guard, with its key claimed, in the handler, in the reply, or
 * when the reply is whole and about to be stored.
 */
export type Step = 'auth' | 'claim' | 'handler' | 'reply' | 'end';

/** A request that stops once. */
interface Stop {
  readonly reached: Promise<void>;
  go(): void;
}

/** Stops requests at steps, by the person who sends them. */
export class Pauses {
  readonly #stops = new Map<string, { readonly reach: () => void; readonly passed: Promise<void> }>();
  readonly #service: string;

  constructor(service: string) {
    this.#service = service;
  }

  /** The next request of that person stops at that step. */
  hold(step: Step, person: string): Stop {
    const reached = Promise.withResolvers<void>();
    const passed = Promise.withResolvers<void>();
    this.#stops.set(`${step} ${personId(this.#service, person)}`, { reach: reached.resolve, passed: passed.promise });
    return { reached: reached.promise, go: passed.resolve };
  }

  async at(step: Step, person: string): Promise<void> {
    await this.#at(`${step} ${personId(this.#service, person)}`);
  }

  async #at(name: string): Promise<void> {
    const stop = this.#stops.get(name);
    this.#stops.delete(name);
    stop?.reach();
    await stop?.passed;
  }

  /** The same store, whose claims are granted, and answered after the stop, and whose ends are written after it. */
  store(store: IdempotencyStore): IdempotencyStore {
    return {
      ...store,
      claim: async (claim) => {
        const answer = await store.claim(claim);
        await this.#at(`claim ${claim.person}`);
        return answer;
      },
      end: async (claim, end) => {
        await this.#at(`end ${claim.person}`);
        return store.end(claim, end);
      },
    };
  }
}
