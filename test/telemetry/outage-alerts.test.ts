import { expect, test } from 'vitest';
import { event, holdfast } from '../../src/index.ts';
import { type Alert, alertOnDead, logAlerts, sentryAlerts, webhookAlerts } from '../../src/telemetry/index.ts';
import { sendJson, startService } from '../http/local-service.ts';
import { memoryStore, virtualTime } from '../../src/testing/index.ts';

const MINUTE = 60_000;
const asked = event<{ readonly n: number }>('charge.asked');

test('an outage is told of when it begins, when messages have waited too long, and when it ends, to every sink [X.10] [S4.8]', async () => {
  const clock = virtualTime({ settled: () => new Promise((resolve) => setImmediate(resolve)) });
  const effects = { ...clock, setTimer: (wake: () => void, ms: number) => clock.setTimer(wake, Math.ceil(ms)) };
  const store = memoryStore({ effects, units: 2 });
  const hf = holdfast({ service: 'shop', store });
  let isDown = true;
  const call = (): void => {
    if (isDown) throw Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
  };
  hf.on(asked, 'charge', call, { breaker: { dependency: 'stripe' } });
  const alerts: Alert[] = [];
  const told: unknown[] = [];
  const note = (...line: unknown[]): void => void told.push(line);
  const log = logAlerts({ debug: note, info: note, warn: note, error: note });
  const captured: unknown[] = [];
  const capture = (_: unknown, context?: { readonly tags?: Record<string, string> }): void =>
    void captured.push(context?.tags);
  const sentry = sentryAlerts({
    addBreadcrumb: () => undefined,
    captureException: capture,
    captureMessage: capture,
  });
  await using service = await startService((_, response) => sendJson(response, 200, {}));
  const webhook = webhookAlerts({ url: service.url });
  const sinks = [(alert: Alert) => void alerts.push(alert), log, sentry, webhook];
  const relay = await clock.settle(hf.start({ effects, observers: [alertOnDead({ sink: sinks, effects })] }));
  const tx = store.begin();
  for (let n = 0; n < 3; n++) await hf.send(tx, asked, { n });
  tx.commit();
  await clock.advance(30 * MINUTE);
  isDown = false;
  await clock.advance(MINUTE);
  await clock.settle(relay.stop());
  const about = { handlers: ['charge'], dependency: 'stripe', count: 3 };
  expect(alerts).toMatchObject([
    { kind: 'breaker-open', ...about, error: { code: 'ECONNREFUSED' } },
    { kind: 'starving', ...about, error: { code: 'ECONNREFUSED' } },
    { kind: 'breaker-closed', handlers: ['charge'], dependency: 'stripe' },
  ]);
  const ages = alerts.map((alert) => ('ageMs' in alert ? alert.ageMs : 0));
  expect(ages[0]).toBeGreaterThanOrEqual(1_000);
  expect(ages[1]).toBeGreaterThanOrEqual(5 * MINUTE);
  expect(ages[2]).toBeGreaterThanOrEqual(29 * MINUTE);
  expect(alerts[0]?.text).toMatch(/^stripe is down, nothing has succeeded for \d+ s: 3 messages of charge wait/);
  expect(told).toHaveLength(3);
  expect(captured).toMatchObject(alerts.map(({ kind }) => ({ alert: kind, handler: 'charge', dependency: 'stripe' })));
  await webhook.idle();
  expect(service.seen.map(({ body }) => body)).toEqual(alerts.map((alert) => JSON.stringify(alert)));
  expect(store.deadLetters()).toEqual([]);
  expect(store.delivered()).toHaveLength(3);
});
