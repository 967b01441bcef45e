import type { EntryEvent, IdempotencyEvent, RunEvent } from '../idempotency/idempotency-event.ts';
import type { IdempotencyCounter, IdempotencyHistogram } from './idempotency-catalog.ts';
import type { Labels, MetricSink } from './metric-sink.ts';

type IdempotencySink = MetricSink<IdempotencyCounter, IdempotencyHistogram, never>;

const OUTCOMES: readonly EntryEvent['kind'][] = [
  'first',
  'taken-over',
  'replayed',
  'in-flight',
  'mismatch',
  'unknown',
  'store-down',
  'unguarded',
];
const NO_LABELS: Labels = {};
// Domains made of ids are added up by the sink; only as many are remembered here.
const MOST_DOMAINS = 2_000;

/** Turns what idempotency tells into numbers. */
export class IdempotencyRecorder {
  readonly #sink: IdempotencySink;
  readonly #known = new Set<string>();

  constructor(sink: IdempotencySink) {
    this.#sink = sink;
    sink.add('idempotency_reaped_total', 0, NO_LABELS);
  }

  observe(event: IdempotencyEvent): void {
    switch (event.kind) {
      case 'waited':
        return this.#sink.record('idempotency_wait_seconds', event.waitedMs / 1_000, { domain: event.about.domain });
      case 'store-failed':
        return this.#sink.add('idempotency_store_failures_total', 1, { during: event.during });
      case 'cache-failed':
        return this.#sink.add('idempotency_reply_cache_failures_total', 1, { during: event.during });
      case 'reaped':
        return this.#sink.add('idempotency_reaped_total', event.count, NO_LABELS);
      case 'finished':
      case 'released':
      case 'doubted':
      case 'late':
      case 'lost':
      case 'unconfirmed':
        return this.#run(event);
      default:
        return this.#entry(event);
    }
  }

  #entry({ kind, about: { domain } }: EntryEvent): void {
    if (!this.#known.has(domain) && this.#known.size < MOST_DOMAINS) {
      this.#known.add(domain);
      // A counter that appears with its first event shows no increase for it, and an alert on it would miss that event.
      for (const outcome of OUTCOMES) this.#sink.add('idempotency_requests_total', 0, { domain, outcome });
      this.#sink.add('idempotency_cache_hits_total', 0, { domain });
      this.#sink.add('idempotency_late_total', 0, { domain });
    }
    this.#sink.add('idempotency_requests_total', 1, { domain, outcome: kind });
    if (kind === 'replayed') this.#sink.add('idempotency_cache_hits_total', 1, { domain });
  }

  #run(event: RunEvent): void {
    const { domain } = event.about;
    switch (event.kind) {
      case 'late':
        return this.#sink.add('idempotency_late_total', 1, { domain });
      case 'lost':
        return this.#sink.add('idempotency_lost_total', 1, { domain, why: event.why });
      case 'unconfirmed':
        return this.#sink.add('idempotency_unconfirmed_total', 1, { domain });
      default: {
        const labels = { domain, outcome: event.kind === 'finished' ? event.status : event.kind };
        this.#sink.add('idempotency_ended_total', 1, labels);
        return this.#sink.record('idempotency_run_duration_seconds', event.runMs / 1_000, labels);
      }
    }
  }
}
