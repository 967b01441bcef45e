import { describe, expect, test } from 'vitest';
import type { NewMessage } from '../outbox/outbox-store.ts';
import { newId } from '../system/new-id.ts';
import { draftMessage } from './draft-message.ts';
import type { Fault, FaultPoint } from './memory-fault.ts';
import { memoryStore, type MemoryStore } from './memory-store.ts';
import { virtualTime } from './virtual-time.ts';

function message(): NewMessage {
  return draftMessage({ id: newId(), type: 't', key: 'k' });
}

const WORKER = {
  id: 'w',
  name: 'w',
  service: 's',
  generation: undefined,
  handlers: [{ name: 'h', types: ['t'], isPinned: false, isRepeatable: false }],
  leaseMs: 1_000,
};

/** A worker that owns everything and has read one message. */
async function withOneRead(store: MemoryStore): Promise<{
  session: ReturnType<MemoryStore['openSession']>;
  target: Parameters<ReturnType<MemoryStore['openSession']>['commit']>[1][number];
}> {
  const session = store.openSession();
  await session.register(WORKER);
  const tokens = await session.acquire('w', (await session.survey('w')).free);
  const tx = store.begin();
  await store.append(tx, [message()]);
  tx.commit();
  const units = tokens.map(({ unit }) => ({ unit, after: 0, limit: 10, skipsBlocked: false }));
  const { ready } = await session.read({ units, since: undefined, dueLimit: 0 });
  const [row] = ready;
  const token = tokens.find(({ unit }) => unit === row?.unit);
  if (!row || !token) throw new Error('nothing was read');
  return { session, target: { token, seq: row.seq, state: 'ready', cycle: 0, version: 0, attempts: 1, durationMs: 1 } };
}

describe('memoryStore', () => {
  test('what a transaction sets, records and sends is kept at its commit, all of it or nothing', async () => {
    const store = memoryStore();
    for (const end of ['rollback', 'commit'] as const) {
      const tx = store.begin();
      tx.set('total', 5);
      tx.record('effect');
      await store.append(tx, [message()]);
      expect([tx.get('total'), store.get('total'), store.deliveries().length]).toEqual([5, undefined, 0]);
      tx[end]();
    }
    expect([store.get('total'), store.recorded(), store.deliveries().length]).toEqual([5, ['effect'], 1]);
    expect(store.deliveries()[0]).toMatchObject({ payload: { n: 1 }, handler: undefined, state: 'ready' });
  });

  test('a transaction that has ended takes nothing more', async () => {
    const store = memoryStore();
    const tx = store.begin();
    tx.commit();
    await expect(store.append(tx, [message()])).rejects.toMatchObject({ code: 'TRANSACTION_NOT_OPEN' });
  });

  const faults: [Fault & Pick<FaultPoint, 'step'>, { outcome: unknown; effects: number }][] = [
    [
      { step: 'before', end: 'reject' },
      { outcome: 'ECONNRESET', effects: 0 },
    ],
    [
      { step: 'locked', end: 'reject' },
      { outcome: 'CommitLost', effects: 0 },
    ],
    [
      { step: 'locked', end: 'again' },
      { outcome: 'committed', effects: 1 },
    ],
    [
      { step: 'after', end: 'reject' },
      { outcome: 'CommitLost', effects: 1 },
    ],
  ];
  test.for(faults)('a commit that meets %o', async ([{ step, ...fault }, expected]) => {
    let left = 1;
    const store = memoryStore({
      fault: (point) => (point.call === 'commit' && point.step === step && left-- > 0 ? fault : undefined),
    });
    const { session, target } = await withOneRead(store);
    const outcome = await session
      .commit('w', [target], async (tx) => tx.record('effect'))
      .catch((error: Error & { code?: unknown }) => error.code ?? error.name);
    expect({ outcome, effects: store.recorded().length }).toEqual(expected);
    expect(store.delivered().length).toBe(expected.effects);
  });

  test('while a commit is on its way its unit cannot be taken over', async () => {
    const time = virtualTime();
    const fault = ({ step }: FaultPoint): Fault | undefined => (step === 'locked' ? { delayMs: 100 } : undefined);
    const store = memoryStore({ effects: time, fault });
    const { session, target } = await withOneRead(store);
    const committed = session.commit('w', [target], async (tx) => tx.record('effect'));
    await time.advance(50);
    expect(await store.openSession().acquire('other', [target.token])).toEqual([]);
    expect(await time.settle(committed)).toBe('committed');
    expect(await store.openSession().acquire('other', [target.token])).toHaveLength(1);
  });

  test('a session that was cut never answers, and its open commit is rolled back', async () => {
    const store = memoryStore({ effects: virtualTime() });
    const { session, target } = await withOneRead(store);
    const hangs: Promise<unknown> = session.commit('w', [target], async (tx) => {
      tx.record('effect');
      session.cut();
    });
    const first = await Promise.race([hangs, new Promise((resolve) => setImmediate(() => resolve('nothing')))]);
    expect([first, store.recorded(), store.deliveries().length]).toEqual(['nothing', [], 1]);
  });
});
