import * as Sentry from '@sentry/node';
import { expect, onTestFinished, test } from 'vitest';
import { event, holdfast, TerminalHandlerError } from '../../src/index.ts';
import { alertOnDead, sentryAlerts } from '../../src/telemetry/index.ts';
import { memoryStore } from '../../src/testing/index.ts';

/** Sentry as an application starts it; what it would send stays here. */
function startSentry(): readonly Sentry.ErrorEvent[] {
  const sent: Sentry.ErrorEvent[] = [];
  Sentry.init({
    dsn: 'http://key@127.0.0.1:9/1',
    transport: (options) =>
      Sentry.createTransport(options, async ({ body }) => {
        const lines = Buffer.from(body).toString().split('\n');
        const [, header = {}, item = {}] = lines
          .filter((line) => line !== '')
          .map((line) => JSON.parse(line) as object);
        if ('type' in header && header.type === 'event') sent.push(item as Sentry.ErrorEvent);
        return { statusCode: 200 };
      }),
    registerEsmLoaderHooks: false,
    skipOpenTelemetrySetup: true,
  });
  onTestFinished(async () => void (await Sentry.close()));
  return sent;
}

const placed = event<{ n: number }>('order.placed', { key: () => 'ord_1' });

test('the real @sentry/node gets a dead letter as an exception of the handler, and one set aside as a message [S4.8]', async () => {
  const sent = startSentry();
  const store = memoryStore();
  const hf = holdfast({ service: 'shop', store });
  const charge = (): never => {
    throw new TerminalHandlerError('card refused');
  };
  hf.on(placed, 'charge', charge, { onDead: 'park' });
  const tx = store.begin();
  const { id } = await hf.send(tx, placed, { n: 1 });
  const behind = await hf.send(tx, placed, { n: 2 });
  tx.commit();
  const relay = await hf.start({ observers: [alertOnDead({ sink: sentryAlerts(Sentry) })] });
  onTestFinished(() => relay.stop());
  await expect.poll(() => sent).toHaveLength(2);
  // In whatever order: for an exception it reads the source around each line of the stack first.
  const [dead, parked] = ['dead', 'parked'].map((kind) => sent.find(({ tags }) => tags?.['alert'] === kind));
  const about = { handler: 'charge', type: 'order.placed', source: 'shop' };
  expect(dead).toMatchObject({
    level: 'error',
    tags: { ...about, alert: 'dead', eventId: id, reason: 'not-retryable' },
    extra: { dlqId: `${id}:1`, attempts: 1, error: { name: 'TerminalHandlerError', message: 'card refused' } },
    fingerprint: ['holdfast', 'dead charge TerminalHandlerError: card refused'],
  });
  expect(dead?.breadcrumbs?.[0]).toMatchObject({
    category: 'holdfast',
    level: 'error',
    data: { ...about, eventId: id },
  });
  expect(parked?.breadcrumbs?.[1]).toMatchObject({ category: 'holdfast', level: 'warning' });
  const [exception] = dead?.exception?.values ?? [];
  expect(exception).toMatchObject({ type: 'TerminalHandlerError', value: 'card refused' });
  // With the stack of the handler, not that of the alert.
  expect(exception?.stacktrace?.frames?.at(-1)).toMatchObject({
    function: 'charge',
    filename: expect.stringContaining(import.meta.filename) as unknown,
  });
  expect(parked).toMatchObject({
    level: 'warning',
    tags: { ...about, alert: 'parked', eventId: behind.id },
    extra: { dlqId: `${behind.id}:1` },
    fingerprint: ['holdfast', 'parked charge'],
  });
  expect(parked?.message).toContain('was set aside for charge');
});
