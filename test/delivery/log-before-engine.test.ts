import { expect, test } from 'vitest';
import { deliveries, sink } from './kit.ts';

test('a delivery ends only once its log entry is written: until then the next of its queue is not called [X.10]', async () => {
  const { url, arrived } = await sink();
  const others = await sink();
  const { publish, sender } = await deliveries();
  const written = Promise.withResolvers<void>();
  const report = sender.report.bind(sender);
  let isHeld = false;
  sender.report = async (reports) => {
    isHeld = true;
    await written.promise;
    return report(reports);
  };
  for (const n of [1, 2]) await publish({ url: `${url}/${n}`, queue: 'mail' });
  await expect.poll(() => isHeld).toBe(true);
  // The sender is alive and well meanwhile: other messages go out, one after the other.
  for (let n = 1; n <= 5; n++) {
    await publish({ url: `${others.url}/${n}` });
    await expect.poll(() => others.arrived.length).toBe(n);
  }
  expect(arrived.map(({ path }) => path)).toEqual(['/1']);
  written.resolve();
  await expect.poll(() => arrived.map(({ path }) => path)).toEqual(['/1', '/2']);
});
