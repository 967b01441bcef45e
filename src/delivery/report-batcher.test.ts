import { expect, test } from 'vitest';
import { virtualTime } from '../testing/virtual-time.ts';
import { type Report, ReportBatcher } from './report-batcher.ts';

function report(attempt: number): Report {
  return {
    messageId: 'm1',
    request: { url: 'https://a.example/', method: 'POST', retries: 3, headers: {}, signedBy: 'server' },
    attempt,
    cycle: 0,
    startedAt: new Date(0),
    endedAt: new Date(0),
    state: 'DELIVERED',
    callbacks: [],
  };
}

test('what ends while a batch is written goes together in the next [X.8]', async () => {
  const batches: number[][] = [];
  const free: (() => void)[] = [];
  const reports = new ReportBatcher({
    effects: virtualTime(),
    storeFailed: () => undefined,
    store: {
      report: async (batch) => {
        batches.push(batch.map(({ attempt }) => attempt));
        await new Promise<void>((resolve) => free.push(resolve));
      },
    },
  });
  const first = reports.add(report(1));
  await Promise.resolve();
  await Promise.resolve();
  const others = [2, 3, 4].map((attempt) => reports.add(report(attempt)));
  expect(batches).toEqual([[1]]);
  free[0]?.();
  await first;
  await expect.poll(() => free.length).toBe(2);
  free[1]?.();
  await Promise.all(others);
  expect(batches).toEqual([[1], [2, 3, 4]]);
});

test('one that cannot be written is tried again and told, and holds up none of the others [X.8]', async () => {
  const time = virtualTime();
  const written: number[] = [];
  let failures = 0;
  const reports = new ReportBatcher({
    effects: time,
    storeFailed: () => void (failures += 1),
    store: {
      report: async (batch) => {
        if (batch.some(({ attempt }) => attempt === 7)) throw new Error('no text to a database');
        written.push(...batch.map(({ attempt }) => attempt));
      },
    },
  });
  const all = Array.from({ length: 20 }, (_, i) => reports.add(report(i)));
  const ended = await time.settle(Promise.allSettled(all));
  expect(ended.map(({ status }) => status)).toEqual(all.map((_, i) => (i === 7 ? 'rejected' : 'fulfilled')));
  expect(written.toSorted((a, b) => a - b)).toEqual(Array.from(all.keys()).filter((i) => i !== 7));
  expect(failures).toBeGreaterThan(4);
});
