import { expect, test } from 'vitest';
import { newId } from '../system/new-id.ts';
import { draftMessage } from './draft-message.ts';
import { memoryStore, type MemoryStore } from './memory-store.ts';

type Session = ReturnType<MemoryStore['openSession']>;
type Target = Parameters<Session['commit']>[1][number];

/** A worker that serves generation 1 with one handler, and owns everything of it. */
async function worker(store: MemoryStore, { isRepeatable = false } = {}): Promise<() => Promise<[Session, Target]>> {
  const session = store.openSession();
  const handlers = [{ name: 'h', types: ['t'], isPinned: true, isRepeatable }];
  await session.register({ id: 'w', name: 'w', service: 's', generation: 1, handlers, leaseMs: 1_000 });
  const tokens = await session.acquire('w', (await session.survey('w')).free);
  return async () => {
    const units = tokens.map(({ unit }) => ({ unit, after: 0, limit: 10, skipsBlocked: false }));
    const { ready } = await session.read({ units, since: undefined, dueLimit: 0 });
    const [{ seq, unit, cycle, version } = { seq: 0, unit: 0, cycle: 0, version: 0 }] = ready;
    const token = tokens.find((one) => one.unit === unit) ?? { unit, epoch: 0 };
    return [session, { token, seq, state: 'ready', cycle, version, attempts: 1, durationMs: 1 }];
  };
}

async function send(store: MemoryStore): Promise<string> {
  const id = newId();
  const tx = store.begin();
  await store.append(tx, [draftMessage({ id, type: 't', key: 'k', generation: 1 })]);
  tx.commit();
  return id;
}

test('a rerun is a delivery of its own, in the line of its generation; what was done stays in the history', async () => {
  const store = memoryStore();
  const next = await worker(store, { isRepeatable: true });
  const id = await send(store);
  expect(store.operator.rerun(id, 'h')).toBe(false);
  for (const rerun of [0, 1]) {
    const [session, target] = await next();
    expect(store.deliveries()).toMatchObject([{ id, rerun, generation: 1 }]);
    expect(await session.commit('w', [target], async (tx) => tx.record(rerun))).toBe('committed');
    if (rerun === 0) expect(store.operator.rerun(id, 'h')).toBe(true);
  }
  expect([store.recorded(), store.delivered().map(({ rerun }) => rerun)]).toEqual([
    [0, 1],
    [0, 1],
  ]);
});

test('a handler that is not repeatable is not run again', async () => {
  const store = memoryStore();
  const next = await worker(store);
  const id = await send(store);
  const [session, target] = await next();
  await session.commit('w', [target], async () => undefined);
  expect([store.operator.rerun(id, 'h'), store.deliveries().length]).toEqual([false, 0]);
});

test('a dead letter that is replayed into another generation leaves the line of its own', async () => {
  const store = memoryStore();
  const next = await worker(store);
  const id = await send(store);
  const [session, target] = await next();
  const error = { name: 'Error', message: 'no', kind: 'unknown' };
  await session.settle('w', [{ ...target, kind: 'dead', error, holds: true }]);
  const [before] = store.deadLetters();
  expect(store.operator.replay(id, 'h', { generation: 2 })).toBe(true);
  const [after] = store.deliveries();
  expect(after).toMatchObject({ id, state: 'waiting', cycle: 1, generation: 2, holds: true });
  // Nobody serves generation 2 yet: it waits in lane 0.
  expect([Math.floor((before?.unit ?? 0) / 32), Math.floor((after?.unit ?? 32) / 32)]).toEqual([1, 0]);
});
