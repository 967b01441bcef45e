import { holdfast, type Holdfast } from '../../src/service/holdfast.ts';
import type { StartOptions } from '../../src/service/start-options.ts';
import { event } from '../../src/outbox/event.ts';
import type { RelayEvent } from '../../src/relay/relay-event.ts';
import type { RelaySession } from '../../src/relay/relay-store.ts';
import type { RunningRelay } from '../../src/relay/relay.ts';
import {
  type MemorySession,
  memoryStore,
  type MemoryStore,
  type MemoryStoreOptions,
  type MemoryTransaction,
  virtualTime,
  type VirtualTime,
} from '../../src/testing/index.ts';
import { withActs } from '../../src/testing/kit/session-with.ts';

export type Acts = (session: MemorySession) => Partial<RelaySession<MemoryTransaction>>;

/** Many seconds: whatever happens sooner was not found by polling, and not by a heartbeat either. */
export const NEVER_POLLS: Pick<StartOptions, 'pollMs' | 'leaseMs'> = { pollMs: 60_000, leaseMs: 3_600_000 };

export const noted = event<{ n: number; text?: string }>('noted');
export const keyed = event<{ k: string; n: number }>('keyed', { key: ({ k }) => k });

/** One database in memory and any number of workers of one service, in virtual time: the components of the relay as they work together. */
export class VirtualService {
  readonly time: VirtualTime = virtualTime({ settled: () => new Promise((resolve) => setImmediate(resolve)) });
  readonly store: MemoryStore;
  readonly events: RelayEvent[] = [];
  readonly #running: RunningRelay[] = [];

  constructor(options: MemoryStoreOptions = {}) {
    this.store = memoryStore({ effects: this.time, units: 4, ...options });
  }

  /** A service over the same database; `acts` replaces calls of its session. */
  service(acts: Acts = () => ({})): Holdfast<MemoryTransaction> {
    const { store } = this;
    return holdfast({
      service: 's',
      store: {
        append: (tx: MemoryTransaction, messages) => store.append(tx, messages),
        openRelay: async () => {
          const session = store.openSession();
          return withActs<MemoryTransaction>(session, acts(session));
        },
      },
    });
  }

  /** Starts a worker, and lets it come to rest for ten seconds. */
  async start(hf: Holdfast<MemoryTransaction>, options: StartOptions = NEVER_POLLS): Promise<RunningRelay> {
    const observe = (one: RelayEvent): void => void this.events.push(one);
    const running = await this.time.settle(hf.start({ effects: this.time, observers: [observe], ...options }));
    this.#running.push(running);
    await this.time.advance(10_000);
    return running;
  }

  /** Sends and commits, without letting time pass. */
  async send(work: (tx: MemoryTransaction) => Promise<unknown>): Promise<void> {
    const tx = this.store.begin();
    await work(tx);
    tx.commit();
  }

  /** Stops every worker that is left. */
  async end(): Promise<void> {
    await this.time.settle(Promise.all(this.#running.map((one) => one.stop({ drainMs: 100 }))));
  }

  kinds(kind: RelayEvent['kind']): readonly RelayEvent[] {
    return this.events.filter((one) => one.kind === kind);
  }
}
