export type Labels = Readonly<Record<string, string>>;

/** One value of a gauge. */
export interface GaugeValue {
  readonly labels: Labels;
  readonly value: number;
}

/** A metric as it is shown: its name is a promise to dashboards. */
export interface MetricDefinition {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds of a histogram, in seconds. */
  readonly buckets?: readonly number[];
}

/** Metrics by name, in the order they are shown. */
export type MetricCatalog = Readonly<Record<string, MetricDefinition>>;

/** Where numbers go: Prometheus text, an OpenTelemetry meter. Both are fed by the same events, so they cannot disagree. */
export interface MetricSink<Counter extends string, Histogram extends string, Gauge extends string> {
  add(name: Counter, by: number, labels: Labels): void;
  record(name: Histogram, value: number, labels: Labels): void;
  /** All values of a gauge; those it had before are gone. */
  set(name: Gauge, values: readonly GaugeValue[]): void;
}

/** The definition of a counter. */
export function counter(help: string, ...labels: readonly string[]): MetricDefinition {
  return { kind: 'counter', help, labels };
}

/** The definition of a gauge. */
export function gauge(help: string, ...labels: readonly string[]): MetricDefinition {
  return { kind: 'gauge', help, labels };
}

/** The definition of a histogram. */
export function histogram(help: string, buckets: readonly number[], ...labels: readonly string[]): MetricDefinition {
  return { kind: 'histogram', help, labels, buckets };
}
