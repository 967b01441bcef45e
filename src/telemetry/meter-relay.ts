import type { RelayObserver } from '../relay/relay-event.ts';
import { systemEffects } from '../system/effects.ts';
import { METRICS, type GaugeName, type MetricName } from './metric-catalog.ts';
import { type GaugeValue, type Labels, type MetricSink, RelayRecorder } from './record-relay.ts';
import { checkMetricsOptions, type RelayMetricsOptions, SAMPLE_MAX_AGE_MS } from './relay-metrics.ts';

interface InstrumentOptions {
  description?: string;
  unit?: string;
  advice?: { explicitBucketBoundaries?: number[] };
}

interface ObservableLike {
  addCallback(callback: (result: { observe(value: number, labels?: Record<string, string>): void }) => void): void;
}

/** What we ask of a meter. OpenTelemetry's `Meter` fits as it is. */
export interface MeterLike {
  createCounter(
    name: string,
    options?: InstrumentOptions,
  ): { add(value: number, labels?: Record<string, string>): void };
  createHistogram(
    name: string,
    options?: InstrumentOptions,
  ): { record(value: number, labels?: Record<string, string>): void };
  createObservableGauge(name: string, options?: InstrumentOptions): ObservableLike;
}

/**
 * Records what a relay does to an OpenTelemetry meter, under the names `relayMetrics` uses. Call it once for a meter: the same
 * instruments made twice are exported twice.
 */
export function meterRelay(meter: MeterLike, options: RelayMetricsOptions = {}): RelayObserver {
  checkMetricsOptions('meterRelay()', options);
  const { sampleMaxAgeMs = SAMPLE_MAX_AGE_MS, effects = systemEffects } = options;
  const sink = new MeterSink(meter);
  const recorder = new RelayRecorder(sink, effects, sampleMaxAgeMs);
  sink.beforeRead = () => recorder.expire();
  return (event) => recorder.observe(event);
}

type Write = (value: number, labels: Labels) => void;

class MeterSink implements MetricSink {
  readonly #instruments = new Map<MetricName, Write>();
  readonly #gauges = new Map<GaugeName, readonly GaugeValue[]>();
  beforeRead: () => void = () => undefined;

  constructor(meter: MeterLike) {
    for (const [name, { kind, help: description, buckets }] of Object.entries(METRICS)) {
      if (kind === 'gauge') {
        meter.createObservableGauge(name, { description }).addCallback((result) => {
          this.beforeRead();
          for (const { labels, value } of this.#gauges.get(name as GaugeName) ?? [])
            result.observe(value, { ...labels });
        });
      } else if (kind === 'counter') {
        const counter = meter.createCounter(name, { description });
        this.#instruments.set(name as MetricName, (value, labels) => counter.add(value, { ...labels }));
      } else {
        const advice = { explicitBucketBoundaries: [...(buckets ?? [])] };
        const histogram = meter.createHistogram(name, { description, unit: 's', advice });
        this.#instruments.set(name as MetricName, (value, labels) => histogram.record(value, { ...labels }));
      }
    }
  }

  add(name: MetricName, by: number, labels: Labels): void {
    this.#instruments.get(name)?.(by, labels);
  }

  record(name: MetricName, value: number, labels: Labels): void {
    this.#instruments.get(name)?.(value, labels);
  }

  set(name: GaugeName, values: readonly GaugeValue[]): void {
    // The SDK shows the last value of what is no longer observed, for ever: what is gone is 0 here.
    const now = new Set(values.map(({ labels }) => JSON.stringify(labels)));
    const gone = (this.#gauges.get(name) ?? []).filter(({ labels }) => !now.has(JSON.stringify(labels)));
    this.#gauges.set(name, [...values, ...gone.map(({ labels }) => ({ labels, value: 0 }))]);
  }
}
