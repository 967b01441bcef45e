import { expect, test } from 'vitest';
import { deliveries, sink } from './kit.ts';

const BREAKER = { failures: 3, probeAfterMs: 40, maxProbeAfterMs: 80 };

test('an outage holds deliveries back and tries one at a time; what waits spends no attempt [X.10]', async () => {
  let isUp = false;
  let atOnce = 0;
  let most = 0;
  const { url, arrived } = await sink(async (response) => {
    atOnce += 1;
    most = Math.max(most, atOnce);
    await new Promise((resolve) => setTimeout(resolve, 2));
    atOnce -= 1;
    response.writeHead(isUp ? 200 : 503).end();
  });
  const other = await sink();
  const { publish, sender, events } = await deliveries({ breaker: BREAKER });
  for (let i = 0; i < 60; i++) await publish({ url: `${url}/${i}`, retries: 50, retryDelay: '10' });
  const opened = (): boolean => sender.changes.some(({ to }) => to === 'open');
  await expect.poll(opened).toBe(true);
  // Those that had begun before it opened may still be on their way.
  const running = (): number =>
    events.reduce((n, { kind }) => n + (kind === 'run-started' ? 1 : kind.startsWith('run-') ? -1 : 0), 0);
  await expect.poll(running).toBe(0);
  const before = arrived.length;
  most = 0;
  await expect.poll(() => sender.changes.filter(({ to }) => to === 'probing').length).toBeGreaterThanOrEqual(4);
  // One for each try, and one at a time.
  expect(most).toBe(1);
  const tries = sender.changes.filter(({ to }) => to === 'probing').length;
  expect(arrived.length - before).toBeLessThanOrEqual(tries);
  await publish({ url: `${other.url}/there` });
  await expect.poll(() => other.arrived.length).toBe(1);
  const tried = new Set(arrived.map(({ path }) => path));
  expect(tried.size).toBeLessThan(40);
  isUp = true;
  const done = (): number =>
    sender.reports.filter(({ state, request }) => state === 'DELIVERED' && request.url.startsWith(url)).length;
  await expect.poll(done).toBe(60);
  const untried = sender.reports.filter(
    ({ request }) => !tried.has(new URL(request.url).pathname) && request.url.startsWith(url),
  );
  expect(untried.every(({ attempt }) => attempt === 1)).toBe(true);
  expect(sender.reports.every(({ state }) => state !== 'FAILED')).toBe(true);
});

test('messages of queues and of flow control wait for their destination too, and may be the one that is tried [X.10]', async () => {
  let isUp = false;
  const { url, arrived } = await sink((response) =>
    response.writeHead(isUp ? 200 : 429, { 'retry-after': '0.02' }).end(),
  );
  const { publish, sender } = await deliveries({ breaker: BREAKER });
  for (let i = 0; i < 12; i++) {
    const line = i % 2 === 0 ? { queue: `q${i}` } : { flowKey: `f${i}` };
    await publish({ url: `${url}/${i}`, retries: 50, ...line });
  }
  await expect.poll(() => sender.changes.filter(({ to }) => to === 'probing').length).toBeGreaterThanOrEqual(2);
  const probed = arrived.length;
  isUp = true;
  const done = (): number => sender.reports.filter(({ state }) => state === 'DELIVERED').length;
  await expect.poll(done).toBe(12);
  expect(arrived.length).toBeGreaterThanOrEqual(probed);
  expect(sender.changes.at(-1)).toMatchObject({ to: 'closed' });
});

test('a destination that somebody holds gets nothing until it is let go [X.10]', async () => {
  const { url, arrived } = await sink();
  const other = await sink();
  const { publish, sender } = await deliveries();
  sender.hold(new URL(url).origin);
  // Seen with the next look; what is published before may still go.
  await expect
    .poll(async () => {
      const before = arrived.length;
      await publish({ url });
      await publish({ url: other.url });
      const sent = other.arrived.length;
      await expect.poll(() => other.arrived.length).toBeGreaterThan(sent);
      return arrived.length - before;
    })
    .toBe(0);
  const before = arrived.length;
  await publish({ url: `${url}/held` });
  await publish({ url: other.url });
  await expect
    .poll(() => sender.reports.filter(({ request }) => request.url.startsWith(other.url)).length)
    .toBeGreaterThan(0);
  expect(arrived.length).toBe(before);
  sender.release(new URL(url).origin);
  await expect.poll(() => arrived.some(({ path }) => path === '/held')).toBe(true);
});
