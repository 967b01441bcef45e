import { OptionCheck } from '../kernel/check-options.ts';
import type { Effects } from '../kernel/effects.ts';
import type { Logger } from '../kernel/log.ts';
import type { PolicyOptions } from '../retry/policy.ts';
import { withRetry } from '../retry/with-retry.ts';
import type { Alert } from './alert.ts';

/** What `webhookAlerts` takes. All but the address may be left out. */
export interface WebhookAlertOptions {
  readonly url: string | URL;
  /** For example `authorization`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** What is sent as JSON. Default: the alert, whose field `text` chat systems show. */
  readonly body?: ((alert: Alert) => unknown) | undefined;
  /** How long one request may take. Default 10 s. */
  readonly timeoutMs?: number | undefined;
  /** How many alerts wait at most; above, the oldest is dropped. Default 100. */
  readonly maxQueued?: number | undefined;
  /** Is told, at `warn`, of alerts that could not be delivered. */
  readonly logger?: Logger | undefined;
  /** Default: the platform's. */
  readonly fetch?: typeof fetch | undefined;
  /** Clock and timers; for tests. */
  readonly effects?: Effects | undefined;
}

/** A sink that posts alerts, one after the other. */
export interface WebhookAlerts {
  (alert: Alert): void;
  /** What became of the alerts so far. */
  counts(): { readonly sent: number; readonly failed: number; readonly dropped: number; readonly waiting: number };
  /** Resolves when nothing waits any more. Call it before the process ends, after the relay has stopped. */
  idle(): Promise<void>;
}

// Half a minute of trouble is bridged; then the next alert has its turn, so that a dead receiver does not pile them up.
const POLICY: PolicyOptions = { maxAttempts: 5, baseDelayMs: 1_000, maxDelayMs: 30_000 };

/**
 * Posts each alert as JSON, tries again when that fails, and gives up after five attempts. Returns at once: alerts wait in a
 * queue of bounded length. The header `idempotency-key` is the same at each attempt.
 */
export function webhookAlerts(options: WebhookAlertOptions): WebhookAlerts {
  const url = checkedUrl(options);
  const { headers, body, timeoutMs = 10_000, maxQueued = 100, logger, effects } = options;
  const post = options.fetch ?? fetch;
  const queue: Alert[] = [];
  const counts = { sent: 0, failed: 0, dropped: 0 };
  let working: Promise<void> | undefined;

  const send = async (alert: Alert): Promise<void> => {
    const text = JSON.stringify(body ? body(alert) : alert);
    const all = { ...headers, 'content-type': 'application/json', 'idempotency-key': alert.id };
    const attempt = async ({ signal }: { signal: AbortSignal }): Promise<void> => {
      // A redirect would carry the headers somewhere else.
      const answer = await post(url, { method: 'POST', headers: all, body: text, signal, redirect: 'error' });
      await answer.body?.cancel();
      if (!answer.ok) throw Object.assign(new Error(`answered ${answer.status}`), { status: answer.status });
    };
    await withRetry('alert', attempt, { policy: { ...POLICY, timeoutMs }, idempotencyKey: alert.id, effects });
  };
  const work = async (): Promise<void> => {
    for (let alert = queue.shift(); alert; alert = queue.shift()) {
      try {
        await send(alert);
        counts.sent++;
      } catch {
        counts.failed++;
        logger?.warn({ operation: 'alert', alert: alert.kind, alertId: alert.id }, 'an alert could not be delivered');
      }
    }
    working = undefined;
  };
  const sink = (alert: Alert): void => {
    if (queue.length >= maxQueued) {
      queue.shift();
      counts.dropped++;
    }
    queue.push(alert);
    working ??= work();
  };
  return Object.assign(sink, {
    counts: () => ({ ...counts, waiting: queue.length }),
    idle: async () => {
      while (working) await working;
    },
  });
}

function checkedUrl(options: WebhookAlertOptions): URL {
  const check = new OptionCheck('webhookAlerts()');
  const url = URL.parse(String(options?.url));
  if (check.object('options', options, 'pass { url }')) {
    check.known(options, ['url', 'headers', 'body', 'timeoutMs', 'maxQueued', 'logger', 'fetch', 'effects']);
    if (url?.protocol !== 'https:' && url?.protocol !== 'http:') {
      check.refuse('url', options.url, "write an http or https URL, for example 'https://hooks.example/alerts'");
    } else if (url.username !== '' || url.password !== '') {
      check.refuse('url', options.url, 'leave user and password out of the URL; pass headers');
    }
    const { timeoutMs, maxQueued } = options;
    if (timeoutMs !== undefined)
      check.number('timeoutMs', timeoutMs, { min: 1, write: 'write milliseconds from 1 on' });
    if (maxQueued !== undefined) {
      check.number('maxQueued', maxQueued, { min: 1, integer: true, write: 'write a whole number from 1 on' });
    }
  }
  check.done();
  return url as URL;
}
