import type { IdempotencyEvent } from '../../src/idempotency/idempotency-event.ts';
import {
  type EntryOptions,
  type Idempotency,
  idempotency,
  type IdempotencyOptions,
} from '../../src/idempotency/idempotency.ts';
import type { OpenRun } from '../../src/idempotency/entry.ts';
import { memoryIdempotency } from '../../src/idempotency/memory-idempotency.ts';
import { virtualTime, type VirtualTime } from '../../src/testing/virtual-time.ts';
import { type FaultyStore, faultyStore } from './faulty-store.ts';

/** A request to run, with what a test cares about. */
export function ask(own: Partial<EntryOptions> = {}): EntryOptions {
  return { domain: 'POST /orders', key: 'k1', person: 'ann', fingerprint: 'f1', ...own };
}

export interface Watched {
  readonly time: VirtualTime;
  readonly store: FaultyStore;
  readonly idem: Idempotency<never>;
  readonly events: readonly IdempotencyEvent[];
  /** What was told, as words. */
  kinds(): string[];
  /** Another process with the same store. */
  another(options?: Partial<IdempotencyOptions>): Idempotency<never>;
  /** Asks and must be let in. */
  letIn(own?: Partial<EntryOptions>): Promise<OpenRun<never>>;
}

/** Idempotency on a store in memory, in virtual time, with faults to switch on and everything that was told. */
export function watched(options: Partial<IdempotencyOptions> = {}): Watched {
  const time = virtualTime();
  const events: IdempotencyEvent[] = [];
  const store = faultyStore(memoryIdempotency({ effects: time }), time);
  const another = (more: Partial<IdempotencyOptions> = {}): Idempotency<never> =>
    idempotency({
      store,
      service: 'orders',
      effects: time,
      observers: [(event) => events.push(event)],
      ...options,
      ...more,
    });
  const idem = another();
  return {
    time,
    store,
    idem,
    events,
    another,
    kinds: () => events.map((event) => (event.kind === 'store-failed' ? `store-failed ${event.during}` : event.kind)),
    letIn: async (own) => {
      const entry = await idem.enter(ask(own));
      if (entry.kind !== 'run') throw new Error(`not let in: ${entry.kind}`);
      return entry.run;
    },
  };
}
