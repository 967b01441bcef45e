import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { alertOnDead, webhookAlerts, type WebhookAlertOptions, type WebhookAlerts } from '../../src/telemetry/index.ts';
import { virtualTime, type VirtualTime } from '../../src/testing/virtual-time.ts';
import { keptLog } from '../http/kept-log.ts';
import { sendJson, startService } from '../http/local-service.ts';
import { dead, delivery } from './made-events.ts';

function hookTo(url: string, own: Partial<WebhookAlertOptions> = {}): { hook: WebhookAlerts; time: VirtualTime } {
  const time = virtualTime();
  return { time, hook: webhookAlerts({ url, effects: time, timeoutMs: 1_000_000_000, ...own }) };
}

/** Waits for the queue to be empty while the virtual clock runs. */
async function idle({ hook, time }: ReturnType<typeof hookTo>): Promise<void> {
  let isIdle = false;
  const waiting = hook.idle().then(() => (isIdle = true));
  while (!isIdle) {
    await turn();
    await time.advance(100);
  }
  await waiting;
}

test('an alert is posted as JSON, tried again under the same key, and tells its text [S4.8]', async () => {
  await using service = await startService((_, response, i) => sendJson(response, i < 2 ? 503 : 204, {}));
  const made = hookTo(service.url, { headers: { authorization: 'Bearer t' } });
  alertOnDead({ sink: made.hook, quietMs: 0 })(dead());
  await idle(made);
  expect(service.seen).toHaveLength(3);
  const [first] = service.seen;
  const body = JSON.parse(first?.body ?? '') as Record<string, unknown>;
  expect(body).toMatchObject({
    kind: 'dead',
    eventId: delivery().id,
    handler: 'charge',
    text: expect.stringContaining('gave up') as unknown,
  });
  expect(first?.headers).toMatchObject({
    'content-type': 'application/json',
    authorization: 'Bearer t',
    'idempotency-key': body['id'],
  });
  expect(new Set(service.seen.map((one) => one.headers['idempotency-key'])).size).toBe(1);
  expect(made.hook.counts()).toEqual({ sent: 1, failed: 0, dropped: 0, waiting: 0 });
});

test('alerts go one after the other, and the oldest of too many is dropped and counted [S4.8]', async () => {
  await using service = await startService((_, response) => sendJson(response, 200, {}));
  const made = hookTo(service.url, { maxQueued: 3, body: (alert) => ('eventId' in alert ? alert.eventId : '') });
  const observe = alertOnDead({ sink: made.hook, quietMs: 0 });
  for (let i = 0; i < 10; i++) observe(dead({ delivery: delivery({ id: `id-${i}` }) }));
  expect(made.hook.counts()).toEqual({ sent: 0, failed: 0, dropped: 6, waiting: 3 });
  await idle(made);
  expect(service.seen.map((one) => JSON.parse(one.body) as unknown)).toEqual(['id-0', 'id-7', 'id-8', 'id-9']);
  expect(made.hook.counts()).toEqual({ sent: 4, failed: 0, dropped: 6, waiting: 0 });
});

test('a receiver that never answers, one that refuses and a broken body are given up, and the next alert has its turn [S4.8]', async () => {
  const { logger, lines } = keptLog();
  await using service = await startService((request, response) => {
    if (request.body === '"no"') sendJson(response, 400, {});
    if (request.body === '"fine"') sendJson(response, 200, {});
  });
  const bodies = [
    () => 'silent',
    () => 'no',
    () => {
      throw new Error('broken');
    },
    () => 'fine',
  ];
  const made = hookTo(service.url, { timeoutMs: 1_000, logger, body: () => bodies.shift()?.() });
  const observe = alertOnDead({ sink: made.hook, quietMs: 0 });
  for (let i = 0; i < 4; i++) observe(dead());
  await idle(made);
  expect(made.hook.counts()).toEqual({ sent: 1, failed: 3, dropped: 0, waiting: 0 });
  expect(service.seen.map((one) => one.body).filter((body) => body !== '"silent"')).toEqual(['"no"', '"fine"']);
  expect(lines.map(({ level, message }) => `${level}: ${message}`)).toEqual(
    Array(3).fill('warn: an alert could not be delivered'),
  );
});

test('options of webhookAlerts that cannot work are refused', () => {
  expect(() => webhookAlerts({ url: 'ftp://x', maxQueued: 0, timeout: 1 } as never)).toThrow(
    /timeout.*url is.*maxQueued is 0/,
  );
  expect(() => webhookAlerts({ url: 'https://user:pw@hooks.example' })).toThrow('pass headers');
  expect(() => webhookAlerts(undefined as never)).toThrow('pass { url }');
});
