import { expect } from 'vitest';
import { event } from '../../src/index.ts';
import { localBroker } from '../../src/testing/index.ts';
import { transportOf } from '../../src/transport/index.ts';
import { needs } from '../support/needs.ts';
import { testService, type TestService } from '../relay/service.ts';

const test = needs('postgres');

const placed = event<number>('order.placed');
const shipped = event<number>('order.shipped', { key: (n) => `s${n}` });
const foreign = event<number>('order.of-others');

function ignored(here: TestService): number {
  return here.events.reduce((sum, one) => sum + (one.kind === 'received' ? one.ignored : 0), 0);
}

test('a type that only a new version takes reaches it also where an old one reads the topic [S0.8] [S1.5]', async ({
  postgres,
}) => {
  const here = await testService(postgres);
  const broker = localBroker();
  const [old, fresh, another] = [0, 1, 2].map(() => here.another({ transport: transportOf(broker) })) as [
    typeof here.hf,
    typeof here.hf,
    typeof here.hf,
  ];
  const seen: string[] = [];
  old.on(placed, 'book', (n) => void seen.push(`old ${n}`));
  // It does not read from the broker here: all that comes is read by the old one.
  fresh.on(shipped, 'ship', (n) => void seen.push(`ship ${n}`));
  await here.start({ of: old });
  const running = await here.start({ of: fresh, handlers: ['ship', 'to-local'] });
  await here.inTransaction(async (tx) => {
    await fresh.send(tx, shipped, 1);
    await fresh.send(tx, foreign, 2);
    await fresh.send(tx, placed, 3);
  });
  await expect.poll(() => seen.toSorted()).toEqual(['old 3', 'ship 1']);
  // What nobody takes is left alone, and leaves nothing behind.
  await expect.poll(() => ignored(here)).toBe(1);
  expect(await here.column(`select count(*)::int from $.inbox`)).toEqual([2]);
  await expect.poll(() => here.column(`select count(*)::int from $.delivery`)).toEqual([0]);
  // Nor is anything kept for a handler that nobody serves any more.
  await running.stop();
  await here.inTransaction((tx) => old.send(tx, shipped, 4));
  await expect.poll(() => ignored(here)).toBe(2);
  // The new version has it again; then a process comes whose handler does not take it any more.
  another.on([placed, shipped], 'ship', () => undefined);
  const later = await here.start({ of: another, handlers: ['ship'] });
  await here.inTransaction((tx) => old.send(tx, shipped, 5));
  await expect.poll(() => here.column(`select count(*)::int from $.inbox`)).toEqual([3]);
  const last = here.another({ transport: transportOf(broker) });
  last.on(placed, 'ship', () => undefined);
  await here.start({ of: last, handlers: ['ship'] });
  await later.stop();
  await here.inTransaction((tx) => old.send(tx, shipped, 6));
  await expect.poll(() => ignored(here)).toBe(3);
});
