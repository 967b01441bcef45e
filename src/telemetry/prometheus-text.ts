import type { GaugeValue, Labels, MetricCatalog, MetricSink } from './metric-sink.ts';

/** The content type of the text. */
export const PROMETHEUS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

// An event type made of ids would fill the memory of this process and of whoever scrapes it.
const MAX_SERIES = 2_000;
const OTHER = 'other';

interface Series {
  /** As it is written, without the braces: `handler="a",type="b"`. */
  readonly labels: string;
  value: number;
  /** Counts of a histogram, one for each bound and one above. */
  readonly counts: number[];
}

/**
 * Keeps numbers and writes them in the Prometheus text format 0.0.4. At most 2,000 label sets for each metric; what comes
 * above is added up under `other`.
 */
export class PrometheusText implements MetricSink<string, string, string> {
  readonly #catalog: MetricCatalog;
  readonly #series = new Map<string, Map<string, Series>>();
  /** The series of counters and histograms by the object that their labels came in: whoever keeps it pays for no text. */
  readonly #byLabels = new Map<string, WeakMap<Labels, Series>>();

  constructor(catalog: MetricCatalog) {
    this.#catalog = catalog;
  }

  add(name: string, by: number, labels: Labels): void {
    this.#lasting(name, labels).value += by;
  }

  record(name: string, value: number, labels: Labels): void {
    const series = this.#lasting(name, labels);
    const buckets = this.#catalog[name]?.buckets ?? [];
    const found = buckets.findIndex((bound) => value <= bound);
    const at = found < 0 ? buckets.length : found;
    series.counts[at] = (series.counts[at] ?? 0) + 1;
    series.value += value;
  }

  set(name: string, values: readonly GaugeValue[]): void {
    this.#series.delete(name);
    for (const { labels, value } of values) this.#find(name, labels).value += value;
  }

  text(): string {
    const lines: string[] = [];
    for (const [name, { kind, help, buckets = [] }] of Object.entries(this.#catalog)) {
      lines.push(`# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`, `# TYPE ${name} ${kind}`);
      for (const series of this.#series.get(name)?.values() ?? []) {
        if (kind === 'histogram') lines.push(...histogramLines(name, buckets, series));
        else lines.push(`${name}${braced(series.labels)} ${series.value}`);
      }
    }
    return `${lines.join('\n')}\n`;
  }

  /** Those that are never dropped. */
  #lasting(name: string, labels: Labels): Series {
    let known = this.#byLabels.get(name);
    if (!known) this.#byLabels.set(name, (known = new WeakMap<Labels, Series>()));
    let series = known.get(labels);
    if (!series) known.set(labels, (series = this.#find(name, labels)));
    return series;
  }

  #find(name: string, labels: Labels): Series {
    let all = this.#series.get(name);
    if (!all) this.#series.set(name, (all = new Map<string, Series>()));
    const names = this.#catalog[name]?.labels ?? [];
    const wanted = all.get(idOf(names, labels));
    if (wanted) return wanted;
    const shown = all.size < MAX_SERIES ? labels : Object.fromEntries(names.map((label) => [label, OTHER]));
    const id = idOf(names, shown);
    const series = all.get(id) ?? { labels: written(names, shown), value: 0, counts: [] };
    all.set(id, series);
    return series;
  }
}

function idOf(names: readonly string[], labels: Labels): string {
  let id = '';
  for (const name of names) id += `${labels[name] ?? ''}\n`;
  return id;
}

function histogramLines(name: string, buckets: readonly number[], { labels, value, counts }: Series): string[] {
  const lines: string[] = [];
  let total = 0;
  for (const [i, bound] of [...buckets, '+Inf'].entries()) {
    total += counts[i] ?? 0;
    lines.push(`${name}_bucket${braced(labels, `le="${bound}"`)} ${total}`);
  }
  lines.push(`${name}_sum${braced(labels)} ${value}`, `${name}_count${braced(labels)} ${total}`);
  return lines;
}

function braced(...labels: readonly string[]): string {
  const inner = labels.filter((one) => one !== '').join(',');
  return inner === '' ? '' : `{${inner}}`;
}

function written(names: readonly string[], labels: Labels): string {
  return names.map((name) => `${name}="${escaped(labels[name] ?? '')}"`).join(',');
}

function escaped(value: string): string {
  return value.toWellFormed().replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}
