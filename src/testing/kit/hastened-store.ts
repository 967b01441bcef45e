import type { RelaySession, RelayStore, Settlement } from '../../relay/relay-store.ts';
import { withActs } from './session-with.ts';

/** The same store, but a message that is to be tried again is due at once: no test waits for a policy. */
export function hastenedStore<Tx, SendTx>(store: RelayStore<Tx, SendTx>): RelayStore<Tx, SendTx> {
  return {
    append: (tx, messages) => store.append(tx, messages),
    openRelay: async () => hastenedSession(await store.openRelay()),
  };
}

function hastenedSession<Tx>(session: RelaySession<Tx>): RelaySession<Tx> {
  return withActs(session, {
    settle: (workerId, settlements) => session.settle(workerId, settlements.map(withoutWait)),
  });
}

function withoutWait(settlement: Settlement): Settlement {
  return settlement.kind === 'retry' ? { ...settlement, delayMs: 0 } : settlement;
}
