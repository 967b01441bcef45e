import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { MeterProvider, MetricReader, type DataPoint, type Histogram } from '@opentelemetry/sdk-metrics';
import { describe, expect, test } from 'vitest';
import { HOUSE_UNIT } from '../../src/relay/relay-store.ts';
import { IDEMPOTENCY_METRICS } from '../../src/telemetry/idempotency-catalog.ts';
import { SERVER_METRICS } from '../../src/server/metrics-text.ts';
import { METRICS } from '../../src/telemetry/metric-catalog.ts';
import { meterRelay, relayMetrics } from '../../src/telemetry/index.ts';
import { virtualTime } from '../../src/testing/virtual-time.ts';
import { dead, done, failed, house, started } from './made-events.ts';

class PulledReader extends MetricReader {
  protected override async onShutdown(): Promise<void> {}
  protected override async onForceFlush(): Promise<void> {}
}

function realMeter(): {
  readonly meter: ReturnType<MeterProvider['getMeter']>;
  read(): Promise<Map<string, DataPoint<unknown>[]>>;
} {
  const reader = new PulledReader();
  const provider = new MeterProvider({ readers: [reader] });
  return {
    meter: provider.getMeter('holdfast'),
    async read() {
      const { resourceMetrics, errors } = await reader.collect();
      expect(errors).toEqual([]);
      const all = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
      return new Map(all.map((metric) => [metric.descriptor.name, metric.dataPoints as DataPoint<unknown>[]]));
    },
  };
}

describe('with the real OpenTelemetry SDK', () => {
  test('the numbers are those of the Prometheus text, under the same names [S1.10]', async () => {
    const { meter, read } = realMeter();
    const effects = virtualTime();
    const observe = meterRelay(meter, { effects });
    const metrics = relayMetrics({ effects });
    const one = { reason: 'no-handler', handler: undefined, type: 'a.b', generation: undefined, count: 4 } as const;
    const units = { kind: 'units-acquired', units: [HOUSE_UNIT, 3], orphaned: 2 } as const;
    for (const event of [
      units,
      started(),
      done(),
      started(),
      failed(),
      started(),
      dead(),
      house({ unserved: [one] }),
    ]) {
      observe(event);
      metrics.observe(event);
    }
    const points = await read();
    const text = metrics.text();
    let compared = 0;
    for (const [name, all] of points) {
      expect(Object.keys(METRICS)).toContain(name);
      for (const { attributes, value } of all) {
        const labels = METRICS[name as keyof typeof METRICS].labels.map(
          (label) => `${label}="${String(attributes[label])}"`,
        );
        const shown = labels.length === 0 ? '' : `{${labels.join(',')}}`;
        const line =
          typeof value === 'number' ? `${name}${shown} ${value}` : `${name}_sum${shown} ${(value as Histogram).sum}`;
        expect(text.split('\n')).toContain(line);
        compared++;
      }
    }
    expect(compared).toBeGreaterThan(15);
    const durations = points.get('holdfast_run_duration_seconds')?.[0]?.value as Histogram;
    expect(durations.buckets.boundaries).toEqual(METRICS.holdfast_run_duration_seconds.buckets);
  });

  test('counts of the outbox are 0 once another process is the housekeeper, so that the largest of all processes is right', async () => {
    const { meter, read } = realMeter();
    const observe = meterRelay(meter, { effects: virtualTime() });
    observe({ kind: 'units-acquired', units: [HOUSE_UNIT], orphaned: 0 });
    observe(house());
    expect((await read()).get('outbox_pending')?.[0]?.value).toBe(7);
    observe({ kind: 'units-released', units: [HOUSE_UNIT] });
    expect((await read()).get('outbox_pending')?.map((point) => point.value)).toEqual([0]);
  });
});

test('the page names every metric with its labels, and no other', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/telemetry.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `((?:outbox|consumer|dlq|holdfast|idempotency)_\w+)` \|([^|]*)\|/gm)];
  const named = rows.map(([, name, labels]) => `${name}: ${labels?.trim()}`);
  const there = Object.entries({ ...METRICS, ...SERVER_METRICS, ...IDEMPOTENCY_METRICS }).map(
    ([name, { labels }]) => `${name}: ${labels.join(', ')}`,
  );
  expect(named.toSorted()).toEqual(there.toSorted());
});

describe('mounted', () => {
  const TYPE = 'text/plain; version=0.0.4; charset=utf-8';

  test('in a Node server', async () => {
    const metrics = relayMetrics();
    metrics.observe(started());
    const server = createServer(metrics.listener).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
    expect(answer.headers.get('content-type')).toBe(TYPE);
    expect(await answer.text()).toBe(metrics.text());
    server.close();
  });

  test('as an answer of the Fetch kind', async () => {
    const metrics = relayMetrics();
    const answer = metrics.response();
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, TYPE]);
    expect(await answer.text()).toBe(metrics.text());
  });
});
