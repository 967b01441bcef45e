import { expect, test } from 'vitest';
import { event, holdfast, type RelayEvent } from '../../src/index.ts';
import { memoryStore, virtualTime } from '../../src/testing/index.ts';

const placed = event<{ n: number }>('order.placed', { key: () => 'k' });

test('a worker whose first handler waits for open transactions longer than its lease keeps what it takes then', async () => {
  const time = virtualTime({ settled: () => new Promise((resolve) => setImmediate(resolve)) });
  const store = memoryStore({ effects: time });
  const hf = holdfast({ service: 'orders', store });
  const seen: number[] = [];
  const events: RelayEvent[] = [];
  hf.on(placed, 'note', ({ n }) => void seen.push(n));
  const open = store.begin();
  await hf.send(open, placed, { n: 1 });
  const starting = hf.start({ effects: time, leaseMs: 1_000, observers: [(told) => void events.push(told)] });
  await time.advance(2_500);
  const later = store.begin();
  await hf.send(later, placed, { n: 2 });
  later.commit();
  open.commit();
  const running = await time.settle(starting);
  await time.advance(5_000);
  expect(seen).toEqual([1, 2]);
  expect(events.filter(({ kind }) => kind === 'units-lost')).toEqual([]);
  await time.settle(running.stop());
});
