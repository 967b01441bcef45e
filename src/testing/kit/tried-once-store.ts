import type { RelaySession, RelayStore } from '../../relay/relay-store.ts';
import { withActs } from './session-with.ts';

/** The same store, but who works on it does not see again what it has tried, however soon that is due. */
export function triedOnceStore<Tx, SendTx>(store: RelayStore<Tx, SendTx>): RelayStore<Tx, SendTx> {
  return {
    append: (tx, messages) => store.append(tx, messages),
    openRelay: async () => triedOnceSession(await store.openRelay()),
  };
}

function triedOnceSession<Tx>(session: RelaySession<Tx>): RelaySession<Tx> {
  const tried = new Set<number>();
  return withActs(session, {
    settle: (workerId, settlements) => {
      for (const { kind, seq } of settlements) if (kind === 'retry') tried.add(seq);
      return session.settle(workerId, settlements);
    },
    read: async (request) => {
      const answer = await session.read(request);
      return { ...answer, due: answer.due.filter(({ seq }) => !tried.has(seq)) };
    },
  });
}
