import { type ContractHarness, memoryStore, type MemoryTransaction, virtualTime } from '../../src/testing/index.ts';

/** The memory store, with a clock that the cases move. */
export function memoryHarness(): ContractHarness<MemoryTransaction> {
  const time = virtualTime();
  const store = memoryStore({ effects: time, units: 8 });
  return {
    store,
    canOverlap: true,
    async begin() {
      const tx = store.begin();
      return { tx, commit: async () => tx.commit(), rollback: async () => tx.rollback() };
    },
    pass: (ms) => time.advance(ms),
    effect: async (tx, line) => tx.record(line),
    effects: async () => store.recorded().map(String),
    edit: async (id, payload) => void store.operator.edit(id, payload),
    async replay(id) {
      for (const dead of store.deadLetters()) if (dead.id === id) store.operator.replay(id, dead.handler ?? '');
    },
    pause: async (handler) => store.operator.pause(handler),
    limit: async (handler, limit) => store.operator.limit(handler, limit),
    finished: async () => store.delivered().map(({ id }) => id),
  };
}
