import type { Effects, Instant } from '../kernel/effects.ts';
import type { RefusedReason, RelayEvent } from '../relay/relay-event.ts';
import type { HouseReport } from '../relay/house-report.ts';
import { HOUSE_UNIT } from '../relay/relay-store.ts';
import { type CounterName, type GaugeName, type HistogramName, SAMPLED } from './metric-catalog.ts';
import type { Labels, MetricSink } from './metric-sink.ts';
import { RunLabelBook, type RunLabels } from './run-labels.ts';

type RelaySink = MetricSink<CounterName, HistogramName, GaugeName>;

type Received = RelayEvent & { readonly kind: 'received' };

const NO_LABELS: Labels = {};
/** The handler that takes messages in from a broker is named after it. */
const TAKES_IN = 'from-';
const REFUSALS: readonly RefusedReason[] = ['lease-lost', 'row-changed'];
const COUNTED_BY_TYPE: readonly CounterName[] = [
  'consumer_dedup_hits_total',
  'dlq_messages_total',
  'holdfast_attempts_total',
  'holdfast_parked_total',
];
const BREAKER_STATES = { closed: 0, probing: 1, open: 2 } as const;

/** What was counted, and when. */
interface Sample {
  readonly report: HouseReport;
  readonly at: Instant;
}

/** Turns what a relay tells into numbers. */
export class RelayRecorder {
  readonly #sink: RelaySink;
  readonly #effects: Effects;
  readonly #sampleMaxAgeMs: number;
  readonly #units = new Set<number>();
  readonly #labels = new RunLabelBook((handler, labels) => this.#announce(handler, labels));
  readonly #waiting = new Map<string, Labels>();
  readonly #breakers = new Map<string, number>();
  /** By the unit whose owner counted. */
  readonly #samples = new Map<number, Sample>();

  constructor(sink: RelaySink, effects: Effects, sampleMaxAgeMs: number) {
    this.#sink = sink;
    this.#effects = effects;
    this.#sampleMaxAgeMs = sampleMaxAgeMs;
    sink.add('holdfast_units_orphaned_total', 0, NO_LABELS);
    for (const why of ['buried', 'refused']) sink.add('holdfast_units_lost_total', 0, { why });
    this.#set('holdfast_housekeeper', 0);
    this.#showUnits();
  }

  /** Drops the counts of the outbox when they are too old to be shown. */
  expire(): void {
    const oldestMs = this.#effects.monoMs() - this.#sampleMaxAgeMs;
    this.#dropSamples([...this.#samples].flatMap(([unit, { at }]) => (at.monoMs < oldestMs ? [unit] : [])));
  }

  observe(event: RelayEvent): void {
    switch (event.kind) {
      case 'started':
        return this.#started(event);
      case 'run-started':
        return this.#sink.add(
          'holdfast_attempts_total',
          1,
          this.#labels.of(event.handler, event.delivery.type).handlerAndType,
        );
      case 'run-done':
        return this.#done(event);
      case 'run-failed':
        return this.#failed(event);
      case 'run-refused':
        return this.#refused(event);
      case 'parked':
        return this.#parked(event.handler, event.delivery.type);
      case 'units-acquired':
        this.#sink.add('holdfast_units_orphaned_total', event.orphaned, NO_LABELS);
        for (const unit of event.units) this.#units.add(unit);
        return this.#showUnits();
      case 'units-released':
        return this.#giveUp(event.units);
      case 'units-lost':
        this.#sink.add('holdfast_units_lost_total', event.units.length, { why: event.why });
        return this.#giveUp(event.units);
      case 'store-failed':
        return this.#sink.add('holdfast_store_failures_total', 1, { during: event.during });
      case 'transport-failed':
        return this.#sink.add('holdfast_transport_failures_total', 1, {
          transport: event.transport,
          during: event.during,
        });
      case 'place-waiting':
      case 'place-ready':
        return this.#place(event);
      case 'received':
        return this.#received(event);
      case 'breaker':
        return this.#breaker(event);
      case 'house':
        this.#samples.set(event.unit ?? HOUSE_UNIT, { report: event.report, at: this.#effects.now() });
        return this.#showSamples();
      case 'stopped':
        return this.#giveUp([...this.#units]);
      case 'stopping':
      case 'run-interrupted':
        return;
      default:
        return event satisfies never;
    }
  }

  #started({ handlers }: RelayEvent & { kind: 'started' }): void {
    for (const { handler, types } of handlers) {
      for (const type of types) this.#labels.of(handler, type);
      if (!handler.startsWith(TAKES_IN)) continue;
      this.#received({ transport: handler.slice(TAKES_IN.length), stored: 0, duplicates: 0, ignored: 0 });
    }
  }

  #received({ transport, stored, duplicates, ignored }: Omit<Received, 'kind'>): void {
    this.#sink.add('holdfast_received_total', stored, { transport, outcome: 'stored' });
    this.#sink.add('holdfast_received_total', duplicates, { transport, outcome: 'duplicate' });
    this.#sink.add('holdfast_received_total', ignored, { transport, outcome: 'ignored' });
    this.#sink.add('consumer_dedup_hits_total', duplicates, { handler: TAKES_IN + transport, type: '' });
  }

  #place({ kind, transport, place }: Extract<RelayEvent, { kind: 'place-waiting' | 'place-ready' }>): void {
    const id = `${transport}\n${place}`;
    if (kind === 'place-waiting') this.#waiting.set(id, { transport, place });
    else this.#waiting.delete(id);
    const values = [...this.#waiting.values()].map((labels) => ({ labels, value: 1 }));
    this.#sink.set('holdfast_transport_waiting', values);
  }

  #breaker({ breaker, state, cause }: Extract<RelayEvent, { kind: 'breaker' }>): void {
    this.#sink.add('holdfast_breaker_opened_total', cause === 'failures' ? 1 : 0, { breaker });
    this.#breakers.set(breaker, BREAKER_STATES[state]);
    const values = [...this.#breakers].map(([name, value]) => ({ labels: { breaker: name }, value }));
    this.#sink.set('holdfast_breaker_state', values);
  }

  /** A counter that appears with its first event shows no increase for it, and an alert on it would miss that event. */
  #announce(handler: string, labels: RunLabels): void {
    for (const ended of Object.values(labels.ended)) this.#sink.add('consumer_processed_total', 0, ended);
    for (const reason of REFUSALS) this.#sink.add('holdfast_results_refused_total', 0, { handler, reason });
    for (const name of COUNTED_BY_TYPE) this.#sink.add(name, 0, labels.handlerAndType);
    this.#sink.add('outbox_published_total', 0, labels.type);
  }

  #done({ handler, delivery, durationMs }: RelayEvent & { kind: 'run-done' }): void {
    const labels = this.#labels.of(handler, delivery.type);
    this.#sink.add('consumer_processed_total', 1, labels.ended.done);
    this.#sink.add('outbox_published_total', 1, labels.type);
    this.#sink.record('holdfast_run_duration_seconds', durationMs / 1_000, labels.lasted.done);
    // The clocks of the database and of this machine may differ by a little.
    const ageMs = Math.max(0, this.#effects.now().wallMs - delivery.createdAtMs);
    this.#sink.record('holdfast_delivery_age_seconds', ageMs / 1_000, labels.handler);
  }

  #failed({ handler, delivery, durationMs, failure, next }: RelayEvent & { kind: 'run-failed' }): void {
    const { type } = delivery;
    const labels = this.#labels.of(handler, type);
    this.#sink.add('consumer_processed_total', 1, labels.ended[next.kind]);
    if (next.kind === 'dead') this.#sink.add('dlq_messages_total', 1, labels.handlerAndType);
    else this.#sink.add('holdfast_retries_total', 1, { handler, type, kind: failure.kind });
    this.#sink.record('holdfast_run_duration_seconds', durationMs / 1_000, labels.lasted[next.kind]);
  }

  #refused({ handler, delivery, reason }: RelayEvent & { kind: 'run-refused' }): void {
    this.#sink.add('holdfast_results_refused_total', 1, { handler, reason });
    this.#sink.add('consumer_dedup_hits_total', 1, { handler, type: delivery.type });
  }

  #parked(handler: string, type: string): void {
    this.#sink.add('dlq_messages_total', 1, { handler, type });
    this.#sink.add('holdfast_parked_total', 1, { handler, type });
  }

  #giveUp(units: readonly number[]): void {
    for (const unit of units) this.#units.delete(unit);
    // Another process counts now; two that show different numbers would be added up.
    this.#dropSamples(units);
    this.#showUnits();
  }

  #showUnits(): void {
    this.#set('holdfast_units_owned', this.#units.size - (this.#units.has(HOUSE_UNIT) ? 1 : 0));
  }

  #dropSamples(units: readonly number[]): void {
    if (units.filter((unit) => this.#samples.delete(unit)).length > 0) this.#showSamples();
  }

  #showSamples(): void {
    const samples = [...this.#samples.values()];
    this.#set('holdfast_housekeeper', samples.length > 0 ? 1 : 0);
    if (samples.length === 0) {
      for (const name of SAMPLED) this.#sink.set(name, []);
      return;
    }
    const reports = samples.map(({ report }) => report);
    const sum = (of: (report: HouseReport) => number): number => reports.reduce((all, one) => all + of(one), 0);
    this.#set(
      'outbox_pending',
      sum(({ pending }) => pending),
    );
    this.#set(
      'holdfast_outbox_failed',
      sum(({ failed }) => failed),
    );
    this.#set('holdfast_outbox_oldest_seconds', Math.max(...reports.map(({ oldestMs }) => oldestMs ?? 0)) / 1_000);
    this.#set('holdfast_outbox_full', reports.some(({ isFull }) => isFull) ? 1 : 0);
    const sampledMs = Math.min(...samples.map(({ at }) => at.wallMs));
    this.#set('holdfast_outbox_sampled_timestamp_seconds', sampledMs / 1_000);
    const unserved = reports.flatMap((report) => report.unserved);
    const values = unserved.map(({ reason, handler = '', type = '', generation, count }) => ({
      labels: { reason, handler, type, generation: generation === undefined ? '' : String(generation) },
      value: count,
    }));
    this.#sink.set('holdfast_outbox_unserved', values);
  }

  #set(name: GaugeName, value: number): void {
    this.#sink.set(name, [{ labels: NO_LABELS, value }]);
  }
}
