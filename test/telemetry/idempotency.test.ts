import { MeterProvider, MetricReader, type DataPoint, type Histogram } from '@opentelemetry/sdk-metrics';
import { describe, expect, test } from 'vitest';
import { idempotency } from '../../src/idempotency/idempotency.ts';
import { memoryIdempotency } from '../../src/idempotency/memory-idempotency.ts';
import { IDEMPOTENCY_METRICS } from '../../src/telemetry/idempotency-catalog.ts';
import { idempotencyMetrics, logIdempotency, meterIdempotency, traceIdempotency } from '../../src/telemetry/index.ts';
import { keptLog } from '../http/kept-log.ts';
import { realTracing } from '../support/spans.ts';
import { idempotencyEvents } from './made-idempotency-events.ts';

class PulledReader extends MetricReader {
  protected override async onShutdown(): Promise<void> {}
  protected override async onForceFlush(): Promise<void> {}
}

describe('idempotency with the real OpenTelemetry SDK', () => {
  const inSpan = realTracing();

  test('what became of a request stands on the span of the application, and in its log lines its trace [S1.10] [S0.12]', async () => {
    const { logger, lines } = keptLog();
    const observers = [traceIdempotency(), logIdempotency(logger)];
    const idem = idempotency({ store: memoryIdempotency(), service: 'orders', observers });
    const call = (): Promise<number> => idem.once('k1', async () => 1, { domain: 'charge' });
    const first = await inSpan(call);
    const again = await inSpan(call);
    const about = { 'idempotency.domain': 'charge', 'idempotency.key': 'k1' };
    expect(first.attributes).toEqual({ ...about, 'idempotency.outcome': 'first', 'idempotency.run': 1 });
    expect(first.events.map(({ name }) => name)).toEqual(['idempotency.finished']);
    expect(first.events[0]?.attributes).toMatchObject({ 'idempotency.status': 'completed', 'idempotency.run': 1 });
    expect(again.attributes).toEqual({
      ...about,
      'idempotency.outcome': 'replayed',
      'idempotency.status': 'completed',
    });
    expect(lines.map(({ fields }) => fields.traceId)).toEqual([
      first.spanContext().traceId,
      first.spanContext().traceId,
      again.spanContext().traceId,
    ]);
  });

  test('nothing secret stands on a span', async () => {
    const observe = traceIdempotency();
    const span = await inSpan(async () => {
      for (const event of idempotencyEvents()) observe(event);
    });
    expect(span.events).toHaveLength(11);
    const { attributes, events } = span;
    expect(JSON.stringify([attributes, events])).toContain('ECONNREFUSED');
    expect(JSON.stringify([attributes, events])).not.toContain('hunter2');
  });

  test('the numbers of idempotency are those of the Prometheus text, under the same names [S1.10]', async () => {
    const reader = new PulledReader();
    const provider = new MeterProvider({ readers: [reader] });
    const observe = meterIdempotency(provider.getMeter('holdfast'));
    const metrics = idempotencyMetrics();
    for (const event of idempotencyEvents()) {
      observe(event);
      metrics.observe(event);
    }
    const { resourceMetrics } = await reader.collect();
    const all = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
    expect(all.map(({ descriptor }) => descriptor.name).toSorted()).toEqual(
      Object.keys(IDEMPOTENCY_METRICS).toSorted(),
    );
    const text = metrics.text().split('\n');
    for (const { descriptor, dataPoints } of all) {
      const { labels } = IDEMPOTENCY_METRICS[descriptor.name as keyof typeof IDEMPOTENCY_METRICS];
      for (const { attributes, value } of dataPoints as DataPoint<unknown>[]) {
        const inner = labels.map((label) => `${label}="${String(attributes[label])}"`).join(',');
        const shown = inner === '' ? '' : `{${inner}}`;
        const sum = typeof value === 'number' ? `${shown} ${value}` : `_sum${shown} ${(value as Histogram).sum}`;
        expect(text).toContain(`${descriptor.name}${sum}`);
      }
    }
  });
});
