import type { RelaySession, RelayStore, Settlement } from '../../relay/relay-store.ts';

/** The same store, but a message that is to be tried again is due at once: no test waits for a policy. */
export function hastenedStore<Tx, SendTx>(store: RelayStore<Tx, SendTx>): RelayStore<Tx, SendTx> {
  return {
    append: (tx, messages) => store.append(tx, messages),
    openRelay: async () => hastenedSession(await store.openRelay()),
  };
}

function hastenedSession<Tx>(session: RelaySession<Tx>): RelaySession<Tx> {
  const settle: RelaySession<Tx>['settle'] = (workerId, settlements) =>
    session.settle(workerId, settlements.map(withoutWait));
  return new Proxy(session, {
    get: (target, name) => {
      if (name === 'settle') return settle;
      const value: unknown = Reflect.get(target, name, target);
      // A session may keep private fields, which are found on itself alone.
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

function withoutWait(settlement: Settlement): Settlement {
  return settlement.kind === 'retry' ? { ...settlement, delayMs: 0 } : settlement;
}
