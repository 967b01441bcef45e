import { asOneEffect } from '../../src/relay/commit-effects.ts';
import type {
  CommitTarget,
  Delivery,
  ReadAnswer,
  ReadRequest,
  SettleAnswer,
  Settlement,
  SettleTarget,
  WorkerRegistration,
} from '../../src/relay/relay-store.ts';
import { draftMessage } from '../../src/testing/draft-message.ts';
import type { MemorySession, MemoryStore, MemoryTransaction } from '../../src/testing/index.ts';
import type { CutSession } from './sim-worker.ts';
import type { Sabotage, SimulationOptions } from './simulate.ts';

/** A session with some of its calls replaced. */
function replaced(
  session: MemorySession,
  calls: Partial<CutSession<MemoryTransaction>>,
): CutSession<MemoryTransaction> {
  return new Proxy<CutSession<MemoryTransaction>>(session, {
    get(target, name): unknown {
      const own: unknown = Reflect.get(calls, name) ?? Reflect.get(target, name, session);
      return typeof own === 'function' ? own.bind(session) : own;
    },
  });
}

/** Writes are taken from whoever makes them: the token is not compared. */
export const fenceSkipped: Sabotage = (session, store) => {
  const ownerOf = (unit: number): string => store.lease(unit)?.owner ?? '';
  const renewed = <T extends SettleTarget>(target: T): T => ({
    ...target,
    token: { unit: target.token.unit, epoch: store.lease(target.token.unit)?.epoch ?? 0 },
  });
  const settle = async (_id: string, settlements: readonly Settlement[]): Promise<SettleAnswer> => {
    const settled = new Set<number>();
    for (const settlement of settlements) {
      const answer = await session.settle(ownerOf(settlement.token.unit), [renewed(settlement)]);
      for (const seq of answer.settled) settled.add(seq);
    }
    return { settled, lostUnits: new Set() };
  };
  return replaced(session, {
    settle,
    commit: (_id, targets, effect) =>
      session.commit(ownerOf(targets[0]?.token.unit ?? 0), targets.map(renewed), effect),
  });
};

/** The completion is written first and the effect after it. */
export const completionBeforeEffect: Sabotage = (session, store) =>
  replaced(session, {
    commit: async (id, targets, effect) => {
      const done = targets.map((target: CommitTarget): Settlement => ({ ...target, kind: 'done' }));
      const { settled } = await session.settle(id, done);
      if (settled.size < targets.length) return 'refused';
      const tx = store.begin();
      try {
        await asOneEffect(effect)(tx);
      } catch (error) {
        tx.rollback();
        throw error;
      }
      tx.commit();
      return 'committed';
    },
  });

/** A worker that was buried, or whose units went to another, works on as if nothing had happened. */
export const leaseForgotten: Sabotage = (session, store) => {
  let registration: WorkerRegistration | undefined;
  const retake = async <T extends SettleTarget>(id: string, targets: readonly T[]): Promise<readonly T[]> => {
    const lost = targets.filter(({ token: { unit } }) => store.lease(unit)?.owner !== id);
    const current = lost.map(({ token: { unit } }) => ({ unit, epoch: store.lease(unit)?.epoch ?? 0 }));
    if (current.length > 0) await session.acquire(id, current);
    return targets.map((target) => ({
      ...target,
      token: { unit: target.token.unit, epoch: store.lease(target.token.unit)?.epoch ?? 0 },
    }));
  };
  return replaced(session, {
    register: (worker) => {
      registration = worker;
      return session.register(worker);
    },
    beat: async (id, leaseMs, running) => {
      const isAlive = await session.beat(id, leaseMs, running);
      if (!isAlive && registration) await session.register({ ...registration, id });
      return true;
    },
    settle: async (id, settlements) => session.settle(id, await retake(id, settlements)),
    commit: async (id, targets, effect) => session.commit(id, await retake(id, targets), effect),
  });
};

function isParked(one: Settlement): boolean {
  return one.kind === 'dead' && one.behind !== undefined;
}

/** What stands behind a dead letter is parked piece by piece, the last of it first. */
export const parkedFromTheEnd: Sabotage = (session) =>
  replaced(session, {
    settle: async (id, settlements) => {
      const settled = new Set<number>();
      const lostUnits = new Set<number>();
      const pieces = settlements.filter(isParked).toReversed();
      for (const piece of [settlements.filter((one) => !isParked(one)), ...pieces.map((one) => [one])]) {
        const answer = await session.settle(id, piece);
        for (const seq of answer.settled) settled.add(seq);
        for (const unit of answer.lostUnits) lostUnits.add(unit);
      }
      return { settled, lostUnits };
    },
  });

function reading(
  change: (request: ReadRequest) => ReadRequest,
  answered = (answer: ReadAnswer): ReadAnswer => answer,
): Sabotage {
  return (session) => replaced(session, { read: async (request) => answered(await session.read(change(request))) });
}

/** A cursor and nothing else: what becomes visible below it is not looked for. */
export const noLateRows: Sabotage = reading((request) => ({ ...request, since: undefined }));

/** Late rows only of transactions in the list of the last snapshot, not of those above its end. */
export const lateRowsOfTheListOnly: Sabotage = reading((request) => ({
  ...request,
  since: request.since && { ...request.since, xmax: String(Number.MAX_SAFE_INTEGER) },
}));

/** Late rows are enqueued after the new ones of the same read. */
export const lateRowsLast: Sabotage = (session: MemorySession, _store: MemoryStore) =>
  replaced(session, {
    read: async (request) => {
      const after = new Map(request.units.map(({ unit, after: cursor }) => [unit, cursor]));
      const answer = await session.read(request);
      const isLate = ({ unit, seq }: { unit: number; seq: number }): boolean => seq <= (after.get(unit) ?? 0);
      const ready = [...answer.ready.filter((row) => !isLate(row)), ...answer.ready.filter(isLate)];
      return { ...answer, ready };
    },
  });

/** A run on purpose is taken for the first one: whatever it calls is given the key of what was done before. */
export const rerunForgotten: Sabotage = reading(
  (request) => request,
  (answer) => ({ ...answer, ready: answer.ready.map(asFirst), due: answer.due.map(asFirst) }),
);

function asFirst(delivery: Delivery): Delivery {
  return { ...delivery, rerun: 0 };
}

/** What a broker brings is stored each time it comes. */
export const inboxForgotten: Sabotage = (session, store) =>
  replaced(session, {
    receive: async (messages) => {
      const tx = store.begin();
      await store.append(tx, messages);
      tx.commit();
      return messages.map(({ id }) => ({ kind: 'stored', id }));
    },
  });

/** A replay does not look whether there is a dead letter: what was handled is put in line again, as if it had never been. */
export const doubleReplay: SimulationOptions['replay'] = (store, id, handler, about) => {
  if (store.operator.replay(id, handler, about)) return true;
  const done = store.delivered().find((row) => row.id === id && row.handler === handler && row.outcome === 'delivered');
  if (done === undefined) return false;
  const tx = store.begin();
  void store.append(tx, [draftMessage({ id, type: done.type, key: done.key, generation: done.generation })]);
  tx.commit();
  return true;
};

/** Every worker serves the first generation, whatever its own. */
export const generationIgnored: Sabotage = (session, _store, { generation }) =>
  replaced(session, {
    register: (worker) => session.register({ ...worker, generation: generation === undefined ? undefined : 1 }),
  });

/** Attempts may take for ever. */
export const timeoutForgotten: SimulationOptions['changeHandlers'] = (handlers) =>
  new Map([...handlers].map(([name, handler]) => [name, { ...handler, timeoutMs: Infinity }]));

/** Whoever tries a message for a breaker may die; nobody takes that over. */
export const proberMissed: Sabotage = (session) =>
  replaced(session, {
    survey: async (id) => {
      const survey = await session.survey(id);
      const breakers = survey.breakers.map((breaker) =>
        breaker.state === 'open' && breaker.probeInMs === 0 ? ({ ...breaker, state: 'probing' } as const) : breaker,
      );
      return { ...survey, breakers };
    },
  });

/** A run that loses its connection leaves no trace. */
export const faultsForgotten: Sabotage = (session) =>
  replaced(session, {
    settle: async (id, settlements) =>
      session.settle(
        id,
        settlements.map((one) => {
          const { faults: _, ...others } = { faults: undefined, ...one };
          return others;
        }),
      ),
  });

/** Whatever a run loses its connection for, it is laid to the database. */
export const databaseBlamed: Sabotage = (session) =>
  replaced(session, { incarnation: () => Promise.reject(new Error('never there')) });
