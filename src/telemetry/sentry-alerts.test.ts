import { expect, test } from 'vitest';
import { dead, delivery, DLQ_ID, house } from '../../test/telemetry/made-events.ts';
import { alertOnDead } from './alert-on-dead.ts';
import { logAlerts } from './log-alerts.ts';
import { sentryAlerts, type SentryLike } from './sentry-alerts.ts';

type Call = readonly [string, ...unknown[]];

function recorder(): { readonly sentry: SentryLike; readonly calls: Call[] } {
  const calls: Call[] = [];
  const sentry: SentryLike = {
    addBreadcrumb: (...args) => void calls.push(['addBreadcrumb', ...args]),
    captureException: (...args) => calls.push(['captureException', ...args]),
    captureMessage: (...args) => calls.push(['captureMessage', ...args]),
  };
  return { sentry, calls };
}

test('a dead letter is a breadcrumb and an exception with its own stack, grouped by handler and cause [S4.8]', () => {
  const { sentry, calls } = recorder();
  const error = {
    name: 'TypeError',
    message: 'x is not a function',
    kind: 'unknown',
    stack: '    at handle (app.ts:1:2)',
  };
  alertOnDead({ sink: sentryAlerts(sentry), quietMs: 0 })(dead({ error }));
  const [crumb, event] = calls;
  const tags = {
    alert: 'dead',
    handler: 'charge',
    type: 'order.placed',
    source: 'orders',
    target: 'billing',
    eventId: delivery().id,
  };
  expect(crumb).toMatchObject(['addBreadcrumb', { category: 'holdfast', level: 'error', data: tags }]);
  expect(event).toMatchObject([
    'captureException',
    {
      name: 'TypeError',
      message: 'x is not a function',
      stack: 'TypeError: x is not a function\n    at handle (app.ts:1:2)',
    },
    {
      level: 'error',
      tags,
      extra: { attempts: 5, error, dlqId: DLQ_ID },
      fingerprint: ['holdfast', 'dead charge TypeError: x is not a function'],
    },
  ]);
});

test('what has no error is a message', () => {
  const { sentry, calls } = recorder();
  alertOnDead({ sink: sentryAlerts(sentry) })(house({ isFull: true }));
  expect(calls[1]).toMatchObject([
    'captureMessage',
    'the outbox is full, senders are refused: 7 pending',
    { level: 'error', tags: { alert: 'outbox-full' }, extra: { pending: 7 } },
  ]);
});

test('alerts as log lines have the fields of log lines [S4.8]', () => {
  const lines: unknown[][] = [];
  const keep = (...args: unknown[]): void => void lines.push(args);
  const observe = alertOnDead({ sink: logAlerts({ debug: keep, info: keep, warn: keep, error: keep }), quietMs: 0 });
  observe(dead());
  observe(house({ isFull: true }));
  expect(lines).toMatchObject([
    [
      {
        alert: 'dead',
        eventId: delivery().id,
        eventType: 'order.placed',
        operation: 'charge',
        attempt: 5,
        source: 'orders',
        target: 'billing',
      },
      expect.stringContaining('gave up'),
    ],
    [{ alert: 'outbox-full', pending: 7 }, expect.stringContaining('full')],
  ]);
});
