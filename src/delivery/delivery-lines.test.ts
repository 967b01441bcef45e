import { expect, test } from 'vitest';
import { MemorySender } from '../../test/delivery/memory-sender.ts';
import { type VirtualTime, virtualTime } from '../testing/virtual-time.ts';
import { DeliveryLines } from './delivery-lines.ts';

interface Stage {
  readonly time: VirtualTime;
  readonly settings: MemorySender;
  readonly lines: DeliveryLines;
  readonly widths: Map<string, number>;
  readonly told: string[];
}

function stage(slots = 100): Stage {
  const time = virtualTime();
  const settings = new MemorySender();
  const widths = new Map<string, number>();
  const gates = { width: (destination: string) => widths.get(destination) ?? 8, onChange: () => () => undefined };
  const lines = new DeliveryLines({ effects: time, settings, gates, slots });
  const told: string[] = [];
  lines.onChange((line) => void told.push(line));
  return { time, settings, lines, widths, told };
}

test('a queue is as wide as it is set, a key of flow control too, a destination as it takes them well [X.8]', () => {
  const { settings, lines, widths } = stage();
  settings.queues.set('mail', { parallelism: 3, isPaused: false });
  settings.queues.set('still', { parallelism: 3, isPaused: true });
  settings.flows.set('ann', { parallelism: 2, isPaused: false });
  settings.flows.set('free', { rate: 5, isPaused: false });
  widths.set('https://down.example', 0);
  const all = [
    'queue:mail',
    'queue:still',
    'queue:other',
    'flow:ann',
    'flow:free',
    'to:https://down.example',
    'to:https://x',
  ];
  expect(all.map((line) => lines.width(line, 0))).toEqual([3, 0, 1, 2, 100, 0, 8]);
  expect(all.map((line) => lines.retryHolds(line))).toEqual([true, true, true, false, false, false, false]);
});

test('a setting that is not known yet starts nothing, and a change is told on [X.8]', () => {
  const { settings, lines, told } = stage();
  settings.queue = () => undefined as never;
  expect(lines.width('queue:a:b', 0)).toBe(0);
  settings.tell('queue:a:b');
  expect(told).toEqual(['queue:a:b']);
  lines.stop();
  settings.tell('queue:a:b');
  expect(told).toEqual(['queue:a:b']);
});

test('when half of the places are taken a line has one, and more again when some are free, in turns [X.8]', () => {
  const { lines, told } = stage(10);
  expect(lines.width('to:a', 4)).toBe(8);
  for (let i = 0; i < 6; i++) expect(lines.width(`to:${i}`, 6)).toBe(1);
  lines.ended();
  expect(told).toEqual([]);
  lines.ended();
  expect(told).toEqual(['to:0', 'to:1', 'to:2', 'to:3']);
  lines.ended();
  expect(told.slice(4)).toEqual(['to:4', 'to:5']);
});

test('a line whose rate is used up rests until the first has its turn, and is told of when it may go on [X.8]', async () => {
  const { time, lines, told } = stage();
  lines.rest('flow:ann', 3_000);
  lines.rest('flow:ann', 1_000);
  lines.rest('flow:ann', 2_000);
  expect([lines.width('flow:ann', 0), lines.width('flow:bob', 0)]).toEqual([0, 100]);
  await time.advance(999);
  expect([lines.width('flow:ann', 0), told]).toEqual([0, []]);
  await time.advance(3);
  expect([lines.width('flow:ann', 0), told]).toEqual([100, ['flow:ann']]);
  lines.rest('flow:ann', 1_000);
  lines.stop();
  expect(time.pendingTimers).toBe(0);
});

test('a line that stands still is asked for all the time, and goes on when nobody has told that it may [X.8]', async () => {
  const { time, settings, lines, told } = stage();
  let asked = 0;
  let isPaused = true;
  settings.queue = () => ((asked += 1), { parallelism: 2, isPaused });
  expect(lines.width('queue:mail', 0)).toBe(0);
  await time.advance(60_000);
  expect([asked, told]).toEqual([5, []]);
  isPaused = false;
  await time.advance(15_000);
  expect(told).toEqual(['queue:mail']);
  expect(lines.width('queue:mail', 0)).toBe(2);
  await time.advance(60_000);
  expect([asked, time.pendingTimers]).toEqual([7, 0]);
});
