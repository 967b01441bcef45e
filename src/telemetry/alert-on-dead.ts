import type { Effects } from '../kernel/effects.ts';
import { toDeliveryError } from '../relay/delivery-error.ts';
import { errorShape } from '../relay/error-shape.ts';
import type { RelayEvent, RelayObserver } from '../relay/relay-event.ts';
import type { HouseReport } from '../relay/house-report.ts';
import type { Delivery } from '../relay/relay-store.ts';
import { systemEffects } from '../system/effects.ts';
import { newId } from '../system/new-id.ts';
import { type AlertFacts, type AlertSink, alertText, type DeadMessage, type Suppressed } from './alert.ts';
import { checkAlertOptions } from './check-alert-options.ts';
import { OutageBook } from './outage-book.ts';
import { QuietGate } from './quiet-gate.ts';
import { parseTraceparent } from './traceparent.ts';

/** What `alertOnDead` takes. All but the sink may be left out. */
export interface AlertOptions {
  /** One, or several that are all told. */
  readonly sink: AlertSink | readonly AlertSink[];
  /**
   * Dead letters of one handler and one cause within this time are one alert at once and one at its end with their number.
   * Default 60 s; 0: an alert for each.
   */
  readonly quietMs?: number | undefined;
  /** The oldest ready delivery may wait this long. Default 5 minutes. */
  readonly oldestMs?: number | undefined;
  /** Messages that nobody serves are told of after this time, so that a deployment is none. Default 60 s. */
  readonly unservedMs?: number | undefined;
  /** Messages that wait because of an outage are told of after this time. Default 5 minutes. */
  readonly starvingMs?: number | undefined;
  /** How many failures of the database in a row are told of. Default 5. */
  readonly storeFailures?: number | undefined;
  /** While something lasts (unserved, full, too old, no database), it is told of again after this time. Default 1 hour. */
  readonly remindMs?: number | undefined;
  /** Clock and timers; for tests. */
  readonly effects?: Effects | undefined;
}

/**
 * Alerts on every message that fails for good, and on what keeps messages from being handled: what their handler calls is down (when
 * that begins, when it ends, and when messages wait for too long because of it), nobody serves them, the outbox is full, the oldest
 * waits too long, the database fails. Never throws and never waits for a sink.
 */
export function alertOnDead(options: AlertOptions): RelayObserver {
  checkAlertOptions(options);
  const alerts = new RelayAlerts(options);
  return (event) => alerts.observe(event);
}

class RelayAlerts {
  readonly #sinks: readonly AlertSink[];
  readonly #effects: Effects;
  readonly #gate: QuietGate;
  readonly #limits: {
    readonly oldestMs: number;
    readonly unservedMs: number;
    readonly starvingMs: number;
    readonly storeFailures: number;
    readonly remindMs: number;
  };
  readonly #outages = new OutageBook();
  /** What lasts, by its group: since when, and when it was last told. */
  readonly #lasting = new Map<string, { readonly sinceMs: number; toldMs: number | undefined }>();

  constructor(options: AlertOptions) {
    const { sink, quietMs = 60_000, effects = systemEffects } = options;
    this.#sinks = typeof sink === 'function' ? [sink] : sink;
    this.#effects = effects;
    this.#gate = new QuietGate(effects, quietMs);
    this.#limits = {
      oldestMs: options.oldestMs ?? 300_000,
      unservedMs: options.unservedMs ?? 60_000,
      starvingMs: options.starvingMs ?? 300_000,
      storeFailures: options.storeFailures ?? 5,
      remindMs: options.remindMs ?? 3_600_000,
    };
  }

  observe(event: RelayEvent): void {
    switch (event.kind) {
      case 'run-failed':
        this.#outages.note(event);
        return event.next.kind === 'dead' ? this.#dead(event, event.next) : this.#starving(event);
      case 'run-done':
        this.#outages.note(event);
        return this.#forgetStarving([event.handler]);
      case 'breaker':
        return this.#breaker(event);
      case 'parked':
        return this.#parked(event);
      case 'store-failed':
        return this.#storeFailed(event);
      case 'house':
        return this.#house(event.report);
      case 'stopped':
        return this.#gate.flush();
      default:
        return;
    }
  }

  #dead(
    { handler, delivery, attempt, error }: RelayEvent & { kind: 'run-failed' },
    { reason, dlqId }: { readonly reason: string; readonly dlqId: string },
  ): void {
    const group = `dead ${handler} ${errorShape(error)}`;
    const message = deadMessage(dlqId, handler, delivery, attempt);
    const send = (suppressed: Suppressed): void =>
      this.#send(group, { kind: 'dead', ...message, reason, error, suppressed });
    this.#gate.pass(group, { eventId: delivery.id, send });
  }

  #breaker(event: RelayEvent & { kind: 'breaker' }): void {
    const { breaker, handlers, state, cause, waiting, failingMs: ageMs, error } = event;
    this.#outages.noteBreaker(breaker, handlers);
    const count = handlers.reduce((sum, handler) => sum + this.#outages.countOf(handler), waiting);
    const about = { handlers, dependency: breaker, count, ageMs };
    // One process opens it and one closes it; the others only hear of that.
    if (state === 'open' && cause === 'failures')
      this.#send(`breaker-open ${breaker}`, { kind: 'breaker-open', ...about, error });
    if (state === 'closed' && cause === 'probe')
      this.#send(`breaker-closed ${breaker}`, { kind: 'breaker-closed', ...about });
    if (state !== 'closed') return;
    this.#outages.forget(handlers);
    this.#forgetStarving(handlers);
  }

  /** Where no message waits any more, the next outage is told of by itself. */
  #forgetStarving(handlers: readonly string[]): void {
    for (const handler of handlers)
      if (this.#outages.countOf(handler) === 0) this.#lasting.delete(`starving ${handler}`);
  }

  #starving({ handler, delivery, error, next }: RelayEvent & { kind: 'run-failed' }): void {
    const outage = next.kind === 'retry' ? next.outage : undefined;
    const { starvingMs: limitMs } = this.#limits;
    const ageMs = outage ? outage.lastAtMs - outage.firstAtMs : 0;
    if (!outage || ageMs < limitMs) return;
    const about = { handlers: [handler], dependency: this.#outages.dependencyOf(handler), eventId: delivery.id };
    const { maxMs } = outage;
    this.#lasts(`starving ${handler}`, 0, () => ({
      kind: 'starving',
      ...about,
      count: this.#outages.countOf(handler),
      ageMs,
      limitMs,
      maxMs,
      error,
    }));
  }

  #parked({ handler, delivery, dlqId }: RelayEvent & { kind: 'parked' }): void {
    const group = `parked ${handler}`;
    const message = deadMessage(dlqId, handler, delivery, delivery.attempts);
    const send = (suppressed: Suppressed): void => this.#send(group, { kind: 'parked', ...message, suppressed });
    this.#gate.pass(group, { eventId: delivery.id, send });
  }

  #storeFailed({ during, failures, error }: RelayEvent & { kind: 'store-failed' }): void {
    const group = 'store-failing';
    // The first of a row ends the row before.
    if (failures <= 1) this.#lasting.delete(group);
    if (failures < this.#limits.storeFailures) return;
    const kept = toDeliveryError(error, { verdict: 'retry', kind: 'database' });
    this.#lasts(group, 0, () => ({ kind: 'store-failing', during, failures, error: kept }));
  }

  #house({ pending, oldestMs = 0, isFull, unserved }: HouseReport): void {
    const { oldestMs: limitMs, unservedMs } = this.#limits;
    const seen = new Set<string>(['store-failing']);
    const lasts = (group: string, afterMs: number, facts: () => AlertFacts): void => {
      seen.add(group);
      this.#lasts(group, afterMs, facts);
    };
    if (isFull) lasts('outbox-full', 0, () => ({ kind: 'outbox-full', pending }));
    if (oldestMs > limitMs) lasts('oldest-age', 0, () => ({ kind: 'oldest-age', oldestMs, limitMs, pending }));
    for (const one of unserved) {
      const group = `unserved ${one.reason} ${one.handler ?? one.type ?? ''} ${one.generation ?? ''}`.trim();
      lasts(group, unservedMs, () => ({ kind: 'unserved', ...one }));
    }
    for (const group of this.#lasting.keys())
      if (!seen.has(group) && !this.#isStarving(group)) this.#lasting.delete(group);
  }

  /** It lasts for as long as messages of its handler wait. */
  #isStarving(group: string): boolean {
    return group.startsWith('starving ') && this.#outages.countOf(group.slice('starving '.length)) > 0;
  }

  /** Tells of something that lasts: once it has lasted `afterMs`, and again after each `remindMs`. */
  #lasts(group: string, afterMs: number, facts: () => AlertFacts): void {
    const nowMs = this.#effects.monoMs();
    const found = this.#lasting.get(group) ?? { sinceMs: nowMs, toldMs: undefined };
    this.#lasting.set(group, found);
    const isDue =
      found.toldMs === undefined ? nowMs - found.sinceMs >= afterMs : nowMs - found.toldMs >= this.#limits.remindMs;
    if (!isDue) return;
    found.toldMs = nowMs;
    this.#send(group, facts());
  }

  #send(group: string, facts: AlertFacts): void {
    const at = new Date(this.#effects.now().wallMs).toISOString();
    const alert = { id: newId(), at, group, text: alertText(facts), ...facts };
    for (const sink of this.#sinks) {
      // In an async function, so that what it throws at once is dropped like what it rejects with.
      (async () => sink(alert))().catch(() => undefined);
    }
  }
}

function deadMessage(dlqId: string, handler: string, delivery: Delivery, attempts: number): DeadMessage {
  const { id, type, source, target, key, idempotencyKey, correlationId } = delivery;
  return {
    dlqId,
    eventId: id,
    type,
    source,
    target,
    handler,
    key,
    attempts,
    idempotencyKey,
    correlationId,
    traceId: parseTraceparent(delivery.traceparent)?.traceId,
  };
}
