import { expect, onTestFinished, test } from 'vitest';
import { MemorySender } from '../../test/delivery/memory-sender.ts';
import { type VirtualTime, virtualTime } from '../testing/virtual-time.ts';
import { DestinationGates, type OpenPass } from './destination-gates.ts';

const SHOP = 'https://shop.example';
const DOWN = { kind: 'down', error: 'it answered 503' } as const;

interface Stage {
  readonly time: VirtualTime;
  readonly store: MemorySender;
  gates(): Promise<DestinationGates>;
}

function stage(): Stage {
  const time = virtualTime();
  const store = new MemorySender(() => time.monoMs());
  return {
    time,
    store,
    gates: async () => {
      const gates = new DestinationGates({ effects: time, store, storeFailed: () => undefined });
      await gates.start();
      onTestFinished(() => gates.stop());
      return gates;
    },
  };
}

async function pass(gates: DestinationGates, id = 'm'): Promise<OpenPass> {
  const answer = await gates.enter(SHOP, id, 20_000);
  if (answer.kind !== 'go') throw new Error(`it has to wait ${answer.delayMs} ms`);
  return answer;
}

/** So many different messages fail, one after the other. */
async function fail(gates: DestinationGates, times: number): Promise<void> {
  for (let i = 0; i < times; i++) (await pass(gates, `m${i}`)).leave(DOWN);
}

async function isLetIn(gates: DestinationGates): Promise<boolean> {
  return (await gates.enter(SHOP, 'late', 20_000)).kind === 'go';
}

test('a breaker opens when five different messages have failed in a row, and not by one that fails five times [X.10]', async () => {
  const { time, gates: open } = stage();
  const gates = await open();
  for (let i = 0; i < 9; i++) (await pass(gates, 'same')).leave(DOWN);
  await fail(gates, 3);
  (await pass(gates)).leave({ kind: 'well' });
  await fail(gates, 4);
  expect(gates.width(SHOP)).toBeGreaterThan(0);
  (await pass(gates, 'fifth')).leave(DOWN);
  expect(gates.width(SHOP)).toBe(0);
  await time.advance(10);
  expect(await gates.enter(SHOP, 'late', 20_000)).toMatchObject({ kind: 'wait', delayMs: expect.any(Number) });
  expect(gates.width('https://other.example')).toBe(8);
});

test('while it is open one message at a time is tried, at growing distances, and one that goes well closes it [X.10]', async () => {
  const { time, store, gates: open } = stage();
  const gates = await open();
  const told: string[] = [];
  gates.onChange((destination) => void told.push(destination));
  await fail(gates, 5);
  for (const [probe, afterMs] of [4_500, 9_000, 18_000, 36_000, 54_000, 54_000].entries()) {
    await time.advance(afterMs - 5);
    expect([probe, gates.width(SHOP)]).toEqual([probe, 0]);
    told.length = 0;
    await time.advance(10);
    expect([probe, gates.width(SHOP), told.includes(SHOP)]).toEqual([probe, 1, true]);
    const tried = await pass(gates, 'm0');
    expect(await isLetIn(gates)).toBe(false);
    tried.leave(DOWN);
    await time.advance(0);
  }
  await time.advance(54_005);
  (await pass(gates)).leave({ kind: 'well' });
  await time.advance(0);
  // One after the other at first.
  expect(gates.width(SHOP)).toBe(1);
  (await pass(gates)).leave({ kind: 'well' });
  expect(gates.width(SHOP)).toBe(2);
  expect(store.changes.map(({ to }) => to)).toEqual([
    'open',
    ...Array.from({ length: 6 }, () => ['probing', 'open']).flat(),
    'probing',
    'closed',
  ]);
});

test('a destination that asks for a time is given it [X.10]', async () => {
  const { time, store, gates: open } = stage();
  const gates = await open();
  await fail(gates, 4);
  (await pass(gates, 'm4')).leave({ ...DOWN, askedMs: 120_000 });
  expect(store.changes).toMatchObject([{ to: 'open', probeInMs: 120_000 }]);
  await time.advance(119_000);
  expect(await isLetIn(gates)).toBe(false);
  await time.advance(1_001);
  expect(await isLetIn(gates)).toBe(true);
});

test('of all processes one tries; when it is lost another does [X.10]', async () => {
  const { time, gates: open } = stage();
  const [first, second] = [await open(), await open()];
  await fail(first, 5);
  await time.advance(1_001);
  expect(second.width(SHOP)).toBe(0);
  await time.advance(4_000);
  const answers = await Promise.all([first, second].map((gates) => gates.enter(SHOP, 'm', 20_000)));
  expect(answers.map(({ kind }) => kind).sort()).toEqual(['go', 'wait']);
  const loser = answers[0]?.kind === 'go' ? second : first;
  await time.advance(29_000);
  expect(await isLetIn(loser)).toBe(false);
  // 20 s for the attempt, 10 s for what it takes to write how it ended, and a look.
  await time.advance(2_000);
  expect(await isLetIn(loser)).toBe(true);
});

test('what another process has opened or closed, or an operator, is seen within a second [X.10]', async () => {
  const { time, store, gates: open } = stage();
  const [first, second] = [await open(), await open()];
  await fail(first, 5);
  await time.advance(1_001);
  expect(second.width(SHOP)).toBe(0);
  await time.advance(4_001);
  (await pass(first)).leave({ kind: 'well' });
  await time.advance(1_001);
  expect(await isLetIn(second)).toBe(true);
  store.hold(SHOP);
  await time.advance(1_001);
  expect([first.width(SHOP), second.width(SHOP)]).toEqual([0, 0]);
  await time.advance(90_000);
  expect([await isLetIn(first), await isLetIn(second)]).toEqual([false, false]);
  store.release(SHOP);
  await time.advance(1_001);
  expect([await isLetIn(first), await isLetIn(second)]).toEqual([true, true]);
});

test('a database that is away opens nothing, and a probe that comes to nothing is not counted [X.10]', async () => {
  const { time, store, gates: open } = stage();
  const gates = await open();
  const change = store.changeDestination.bind(store);
  store.changeDestination = () => Promise.reject(new Error('away'));
  await fail(gates, 5);
  await time.advance(1);
  expect(gates.width(SHOP)).toBeGreaterThan(0);
  store.changeDestination = change;
  await fail(gates, 1);
  await time.advance(5_001);
  (await pass(gates)).leave({ kind: 'undecided' });
  await time.advance(1);
  expect(await isLetIn(gates)).toBe(false);
  await time.advance(300);
  expect(await isLetIn(gates)).toBe(true);
});

test('how many go to a destination at once grows while it answers, and is halved when it does not [X.8]', async () => {
  const { gates: open } = stage();
  const gates = await open();
  const widths: number[] = [];
  for (let i = 0; i < 100; i++) (await pass(gates)).leave({ kind: 'well' });
  widths.push(gates.width(SHOP));
  for (let i = 0; i < 4; i++) {
    (await pass(gates, 'same')).leave(DOWN);
    widths.push(gates.width(SHOP));
  }
  for (let i = 0; i < 30; i++) (await pass(gates)).leave({ kind: 'well' });
  widths.push(gates.width(SHOP));
  expect(widths).toEqual([64, 32, 16, 8, 4, 8]);
});

test('gates of any number of destinations take bounded memory [X.8]', async () => {
  const { gates: open } = stage();
  const gates = await open();
  await fail(gates, 4);
  for (let i = 0; i < 25_000; i++) {
    const answer = await gates.enter(`https://${i}.example`, 'm', 1_000);
    if (answer.kind === 'go') answer.leave({ kind: 'well' });
  }
  expect(gates.size).toBeLessThanOrEqual(10_000);
  // What it had counted is not forgotten.
  (await pass(gates, 'fifth')).leave(DOWN);
  expect(gates.width(SHOP)).toBe(0);
});
