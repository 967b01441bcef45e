import type { GaugeValue, Labels, MetricCatalog, MetricSink } from './metric-sink.ts';

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

type Write = (value: number, labels: Labels) => void;

/** Numbers as instruments of a meter: one for each metric of the catalog, made at once. */
export class MeterSink implements MetricSink<string, string, string> {
  readonly #instruments = new Map<string, Write>();
  readonly #gauges = new Map<string, readonly GaugeValue[]>();
  /** Called before a gauge is read. */
  beforeRead: () => void = () => undefined;

  constructor(meter: MeterLike, catalog: MetricCatalog) {
    for (const [name, { kind, help: description, buckets }] of Object.entries(catalog)) {
      if (kind === 'gauge') {
        meter.createObservableGauge(name, { description }).addCallback((result) => {
          this.beforeRead();
          for (const { labels, value } of this.#gauges.get(name) ?? []) result.observe(value, { ...labels });
        });
      } else if (kind === 'counter') {
        const counter = meter.createCounter(name, { description });
        this.#instruments.set(name, (value, labels) => counter.add(value, { ...labels }));
      } else {
        const advice = { explicitBucketBoundaries: [...(buckets ?? [])] };
        const histogram = meter.createHistogram(name, { description, unit: 's', advice });
        this.#instruments.set(name, (value, labels) => histogram.record(value, { ...labels }));
      }
    }
  }

  add(name: string, by: number, labels: Labels): void {
    this.#instruments.get(name)?.(by, labels);
  }

  record(name: string, value: number, labels: Labels): void {
    this.#instruments.get(name)?.(value, labels);
  }

  set(name: string, values: readonly GaugeValue[]): void {
    // The SDK shows the last value of what is no longer observed, for ever: what is gone is 0 here.
    const now = new Set(values.map(({ labels }) => JSON.stringify(labels)));
    const gone = (this.#gauges.get(name) ?? []).filter(({ labels }) => !now.has(JSON.stringify(labels)));
    this.#gauges.set(name, [...values, ...gone.map(({ labels }) => ({ labels, value: 0 }))]);
  }
}
