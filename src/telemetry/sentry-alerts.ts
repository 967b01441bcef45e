import type { DeliveryError } from '../relay/relay-store.ts';
import type { Alert, AlertSink } from './alert.ts';

type SentryLevel = 'error' | 'warning';

interface SentryContext {
  level?: SentryLevel;
  tags?: Record<string, string>;
  extra?: Record<string, unknown>;
  fingerprint?: string[];
}

/** What we call of Sentry. The packages `@sentry/node`, `@sentry/browser` and their kin fit as they are. */
export interface SentryLike {
  addBreadcrumb(breadcrumb: {
    category?: string;
    level?: SentryLevel;
    message?: string;
    data?: Record<string, unknown>;
  }): void;
  captureException(error: unknown, context?: SentryContext): unknown;
  captureMessage(message: string, context?: SentryContext): unknown;
}

/**
 * Sends alerts to Sentry: a breadcrumb, and an event that is grouped by handler and cause. What has an error is an exception
 * with its stack, the rest a message.
 */
export function sentryAlerts(sentry: SentryLike): AlertSink {
  return (alert) => {
    const { text, group, kind, id, at, ...facts } = alert;
    const level = WARNINGS.has(kind) ? 'warning' : 'error';
    const tags = tagsOf(alert);
    sentry.addBreadcrumb({ category: 'holdfast', level, message: text, data: tags });
    const context = { level, tags, extra: { alertId: id, at, ...facts }, fingerprint: ['holdfast', group] } as const;
    if ('error' in alert && alert.error)
      sentry.captureException(errorOf(alert.error), { ...context, fingerprint: [...context.fingerprint] });
    else sentry.captureMessage(text, { ...context, fingerprint: [...context.fingerprint] });
  };
}

const WARNINGS: ReadonlySet<Alert['kind']> = new Set(['parked', 'oldest-age', 'breaker-closed']);

/** What people filter by. */
function tagsOf(alert: Alert): Record<string, string> {
  const tags: Record<string, string> = { alert: alert.kind };
  for (const name of ['handler', 'type', 'source', 'target', 'eventId', 'reason', 'traceId'] as const) {
    const value: unknown = (alert as Partial<Record<typeof name, unknown>>)[name];
    if (typeof value === 'string') tags[name] = value;
  }
  if ('dependency' in alert) {
    tags['handler'] = alert.handlers.join(',');
    if (alert.dependency !== undefined) tags['dependency'] = alert.dependency;
  }
  return tags;
}

/** The kept error as one that can be shown with its own stack: the one of this place would say nothing. */
function errorOf({ name, message, stack }: DeliveryError): Error {
  const error = new Error(message);
  error.name = name;
  error.stack = `${name}: ${message}${stack === undefined ? '' : `\n${stack}`}`;
  return error;
}
